// `sluice plan`, `apply`, `diff` and `export`: declared state.
import { existsSync } from 'node:fs';
import { stringify } from 'yaml';
import { DeclaredFaults, readDeclared } from '../lib/declared-files.ts';
import { ApiError, type Gateway, type JsonObject, type Remote, withGateway } from './client.ts';
import type { Output } from './output.ts';

export interface StateOptions extends Remote {
  readonly file: string;
  readonly source?: string;
  readonly json?: boolean;
}

interface Change {
  readonly action: 'create' | 'update' | 'archive';
  readonly kind: string;
  readonly name: string;
  readonly workspace?: string;
  readonly file: string;
  readonly path?: string;
  readonly members: readonly { readonly path: string; readonly before?: string; readonly after?: string }[];
}

type Environment = Readonly<Record<string, string | undefined>>;
/** What is read when no file is named. */
export const DEFAULT_FILE = 'sluice.yaml';
const SIGNS = { create: '+', update: '~', archive: '-' } as const;
const STYLES = { create: 'green', update: 'yellow', archive: 'red' } as const;

/** The changes that the files would make, or have made. @throws DeclaredFaults with every fault and its line */
async function ask(
  verb: 'plan' | 'apply',
  options: StateOptions,
  env: Environment,
): Promise<readonly Change[]> {
  if (options.file === DEFAULT_FILE && !existsSync(DEFAULT_FILE))
    throw new Error(`there is no ${DEFAULT_FILE} here: name a file or a folder by --file`);
  const { request, placed } = readDeclared(options.file, env, options.source);
  return withGateway(options, env, async (gateway) => {
    try {
      const body = request as unknown as JsonObject;
      const { changes } = await gateway.call('POST', `/declared-state/${verb}`, body);
      return changes as unknown as readonly Change[];
    } catch (error) {
      const faults = error instanceof ApiError && error.status === 400 ? error.violations : [];
      if (faults.length > 0) throw new DeclaredFaults(faults.map(placed));
      throw error;
    }
  });
}

export async function plan(options: StateOptions, env: Environment, out: Output): Promise<void> {
  const changes = await ask('plan', options, env);
  if (options.json) return out.json({ changes });
  show(changes, out, false);
  if (changes.length > 0)
    out.line(`${count(changes)}; nothing is changed yet: sluice apply -f ${options.file}`);
}

export async function apply(options: StateOptions, env: Environment, out: Output): Promise<void> {
  const changes = await ask('apply', options, env);
  if (options.json) return out.json({ changes });
  show(changes, out, false);
  if (changes.length > 0) out.line(`${count(changes)}; done.`);
}

/** Resolves with whether there are differences. */
export async function diff(options: StateOptions, env: Environment, out: Output): Promise<boolean> {
  const changes = await ask('plan', options, env);
  if (options.json) out.json({ changes });
  else show(changes, out, true);
  return changes.length > 0;
}

/** The same bytes as long as nothing changes. */
export async function exportState(
  options: Remote & { readonly json?: boolean },
  env: Environment,
  out: Output,
): Promise<void> {
  const { document } = await withGateway(options, env, (gateway: Gateway) =>
    gateway.call('GET', '/declared-state'),
  );
  if (options.json) return out.json(document);
  out.line(stringify(document, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd());
}

function show(changes: readonly Change[], out: Output, whole: boolean): void {
  if (changes.length === 0) out.line('Nothing to change: what is stored is as the file says.');
  for (const { action, kind, name, workspace, file, members } of changes) {
    const where = workspace === undefined ? '' : ` (${workspace})`;
    out.line(out.paint(STYLES[action], `${SIGNS[action]} ${action} ${kind} ${name}${where}`));
    if (action === 'archive') out.line(`    it came from ${file}, which no longer has it`);
    if (action === 'update' || whole)
      for (const { path, before, after } of members)
        out.line(`    ${path}: ${before ?? '(none)'} -> ${after ?? '(none)'}`);
  }
}

function count(changes: readonly Change[]): string {
  const of = (action: Change['action']): number => changes.filter((one) => one.action === action).length;
  return `${of('create')} to create, ${of('update')} to update, ${of('archive')} to archive`;
}
