// `sluice keys`, `providers list`, `budgets list` and `logs tail`: what a gateway has.
import { setTimeout as sleep } from 'node:timers/promises';
import { urlText } from '../lib/url-text.ts';
import { allOf, type Gateway, type JsonObject, type Remote, withGateway } from './client.ts';
import type { Output } from './output.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Options = Remote & { readonly json?: boolean };

/** Names are others' texts: nothing in them moves a terminal's cursor. */
const text = (value: unknown): string =>
  value === undefined || value === null ? '' : String(value).replaceAll(/\p{Cc}/gu, ' ');
const list = (data: readonly JsonObject[]): object => ({ object: 'list', total: data.length, data });

export async function listKeys(options: Options, env: Environment, out: Output): Promise<void> {
  const keys = await withGateway(options, env, (gateway) => allOf(gateway, '/api-keys'));
  if (options.json) return out.json(list(keys));
  out.table(
    ['ID', 'NAME', 'TYPE', 'STATUS', 'KEY', 'MANAGED BY'],
    keys.map((key) => ['id', 'name', 'type', 'status', 'key', 'managed_by'].map((name) => text(key[name]))),
  );
}

export interface NewKeyOptions extends Options {
  readonly name: string;
  readonly kind: string;
  readonly scopes?: string;
  readonly workspace?: string;
}

/** Scopes of the keys that a gateway begins with. */
const CALLS = ['completions.write', 'prompts.render', 'mcp.invoke', 'logs.write', 'models.list'];

/** Makes a key over the gateway's own API. */
export async function createKey(
  gateway: Gateway,
  { name, kind, scopes, workspace }: NewKeyOptions,
  all: readonly string[] = CALLS,
): Promise<{ readonly id: string; readonly key: string }> {
  const [type] = kind.split('-');
  const { id, key } = await gateway.call('POST', `/api-keys/${type}/service`, {
    name,
    scopes: scopes?.split(',') ?? all,
    ...(type === 'workspace' ? { workspace_id: workspace ?? 'default' } : {}),
  });
  return { id: text(id), key: text(key) };
}

export async function revokeKey(id: string, options: Options, env: Environment, out: Output): Promise<void> {
  await withGateway(options, env, (gateway) => gateway.call('DELETE', `/api-keys/${urlText(id)}`));
  if (options.json) out.json({ id, revoked: true });
  else out.line(`The key ${id} is revoked.`);
}

export async function rotateKey(id: string, options: Options, env: Environment, out: Output): Promise<void> {
  const answer = await withGateway(options, env, (gateway) =>
    gateway.call('POST', `/api-keys/${urlText(id)}/rotate`, {}),
  );
  if (options.json) return out.json({ id, key: answer.key });
  out.line(text(answer.key));
}

export async function listProviders(
  options: Options & { readonly workspace?: string },
  env: Environment,
  out: Output,
): Promise<void> {
  const providers = await withGateway(options, env, async (gateway) => {
    const { workspace } = options;
    const workspaces =
      workspace === undefined ? await allOf(gateway, '/admin/workspaces') : [{ slug: workspace }];
    const found: JsonObject[] = [];
    for (const { slug } of workspaces)
      for (const one of await allOf(gateway, `/providers?workspace_id=${urlText(text(slug))}`))
        found.push({ ...one, workspace: text(slug) });
    return found;
  });
  if (options.json) return out.json(list(providers));
  out.table(
    ['SLUG', 'NAME', 'PROVIDER', 'WORKSPACE', 'STATUS', 'MANAGED BY'],
    providers.map((one) =>
      ['slug', 'name', 'ai_provider_name', 'workspace', 'status', 'managed_by'].map((name) =>
        text(one[name]),
      ),
    ),
  );
}

export async function listBudgets(options: Options, env: Environment, out: Output): Promise<void> {
  const budgets = await withGateway(options, env, budgetsOf);
  if (options.json) return out.json({ budgets });
  out.table(
    ['OF', 'NAME', 'TYPE', 'LIMIT', 'USED', 'STATUS', 'RESETS'],
    budgets.map((one) =>
      ['of', 'name', 'type', 'credit_limit', 'current_usage', 'status', 'next_usage_reset_at'].map((name) =>
        text(one[name]),
      ),
    ),
  );
}

async function budgetsOf(gateway: Gateway): Promise<JsonObject[]> {
  const budgets: JsonObject[] = [];
  const add = (of: string, { id, name }: JsonObject, limits: unknown): void => {
    const all = Array.isArray(limits) ? limits : limits === undefined || limits === null ? [] : [limits];
    for (const limit of all as JsonObject[]) budgets.push({ of, id, name, ...limit });
  };
  for (const policy of await allOf(gateway, '/policies/usage-limits')) {
    const { id, name, type, credit_limit: limit, status, next_usage_reset_at: next } = policy;
    budgets.push({ of: 'policy', id, name, type, credit_limit: limit, status, next_usage_reset_at: next });
  }
  for (const key of await allOf(gateway, '/api-keys')) add('key', key, key.usage_limits);
  for (const workspace of await allOf(gateway, '/admin/workspaces')) {
    add('workspace', workspace, workspace.usage_limits);
    const path = `/providers?workspace_id=${urlText(text(workspace.slug))}`;
    for (const provider of await allOf(gateway, path)) add('provider', provider, provider.usage_limits);
  }
  return budgets;
}

export interface TailOptions extends Options {
  readonly lines: string;
  readonly follow: boolean;
}

const EVERY_MS = 1000;
const MOST_SEEN = 10_000;
const MOST_LINES = 100;

/**
 * The newest entries of the log, then each new one. Ends when it is interrupted, or at once without
 * `--follow`. @throws Error for a wrong number of lines
 */
export async function tailLogs(options: TailOptions, env: Environment, out: Output): Promise<void> {
  const count = Number(options.lines);
  if (!/^\d{1,3}$/.test(options.lines) || count > MOST_LINES)
    throw new Error(`--lines: must be a whole number from 0 to ${MOST_LINES}`);
  const seen = new Set<string>();
  const print = (entry: JsonObject): void => {
    if (options.json) out.json(entry);
    else out.line(lineOf(entry, out));
  };
  await withGateway(options, env, async (gateway) => {
    for (let first = true; ; first = false) {
      const { data = [] } = await gateway.call('GET', '/logs?page_size=100');
      const fresh = (data as readonly JsonObject[]).filter(({ id }) => !seen.has(text(id)));
      for (const { id } of fresh) seen.add(text(id));
      for (const id of seen) {
        if (seen.size <= MOST_SEEN) break;
        seen.delete(id);
      }
      for (const entry of (first ? fresh.slice(0, count) : fresh).toReversed()) print(entry);
      if (!options.follow) return;
      await sleep(EVERY_MS, undefined, { signal: out.ended }).catch(() => undefined);
      if (out.ended.aborted) return;
    }
  });
}

function lineOf(entry: JsonObject, out: Output): string {
  const status = Number(entry.status_code);
  const cost = typeof entry.cost === 'number' ? `$${entry.cost.toFixed(6)}` : '';
  return [
    text(entry.created_at),
    out.paint(status >= 400 ? 'red' : 'green', text(status)),
    text(entry.provider),
    text(entry.model),
    `${Math.round(Number(entry.latency_ms))} ms`,
    cost,
    out.paint('dim', text(entry.id)),
  ]
    .filter((part) => part !== '')
    .join('  ');
}
