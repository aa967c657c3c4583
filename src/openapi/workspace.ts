// How operations of the control plane show that they take a workspace.
import type { DescMethod } from '@bufbuild/protobuf';
import {
  takesWorkspace,
  WORKSPACE_FIELD,
  type WorkspaceUse,
  workspaceUseOf,
} from '../rest/named-workspace.ts';
import type { Json, Schema } from './json.ts';

const MEANINGS: Readonly<Record<WorkspaceUse, string>> = {
  resource:
    "The resource's own workspace, by id or slug: with another one the answer is that of an unknown id.",
  organisation:
    'A workspace of the organisation, by id or slug; what is asked for is the organisation’s in any.',
  field: 'The workspace, by id or slug.',
  slug: 'The workspace, by id or slug: the same as `workspace_slug`.',
  inference: 'The workspace, by id or slug; an organisation key must name one.',
  caller: 'The workspace, by id or slug, that an organisation key means.',
};

/** The schema of the member and of the parameter. */
export function workspaceSchema(): Schema {
  return { type: 'string', maxLength: 255, description: 'The workspace, by id or slug.' };
}

/** The query parameter of an operation whose message has no field for it. */
export function workspaceParameters(method: DescMethod): Json[] {
  const use = workspaceUseOf(method);
  if (use === undefined || !takesWorkspace(method)) return [];
  const { description: _, ...schema } = workspaceSchema();
  return [{ name: WORKSPACE_FIELD, in: 'query', description: MEANINGS[use], schema }];
}
