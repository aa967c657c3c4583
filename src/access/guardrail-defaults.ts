// The guardrails that every call of a workspace passes: the organisation's first, then the workspace's own.
import type { JsonObject } from '../store/collection.ts';
import type { Directory } from './directory.ts';

/** Ids or slugs. */
export interface GuardrailDefaults {
  readonly input: readonly string[];
  readonly output: readonly string[];
}

interface Known {
  readonly organisation: object | undefined;
  readonly defaults: GuardrailDefaults | undefined;
}

/**
 * Reads them off the directory. The same object is answered until one of the two changes, so that what is made of it
 * may be kept by it; undefined when there are none.
 */
export function guardrailDefaultsOf(
  directory: Pick<Directory, 'organisation' | 'workspace'>,
): (tenant: {
  readonly organisationId: string;
  readonly workspaceId: string | undefined;
}) => GuardrailDefaults | undefined {
  const byWorkspace = new WeakMap<object, Known>();
  return ({ organisationId, workspaceId }) => {
    const workspace = directory.workspace(organisationId, workspaceId ?? '');
    if (workspace === undefined) return undefined;
    const organisation = directory.organisation(organisationId);
    let known = byWorkspace.get(workspace);
    if (known === undefined || known.organisation !== organisation) {
      known = {
        organisation,
        defaults: joined(organisation?.body.defaults, workspace.body.defaults, workspace.id),
      };
      byWorkspace.set(workspace, known);
    }
    return known.defaults;
  };
}

function joined(
  organisation: JsonObject | undefined,
  workspace: JsonObject | undefined,
  workspaceId: string,
): GuardrailDefaults | undefined {
  const of = (side: 'input' | 'output'): readonly string[] => {
    const excluded = textsOf(organisation?.[`${side}_guardrail_exclusions`]).includes(workspaceId);
    const theirs = excluded ? [] : textsOf(organisation?.[`${side}_guardrails`]);
    return [...new Set([...theirs, ...textsOf(workspace?.[`${side}_guardrails`])])];
  };
  const defaults = { input: of('input'), output: of('output') };
  return defaults.input.length + defaults.output.length > 0 ? defaults : undefined;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
