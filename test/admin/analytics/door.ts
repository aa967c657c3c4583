// A gateway whose books hold calls that were made and random traffic written through its store, with feedback given
// through its front door.
import { scopesOf } from '../../../src/access/scopes.ts';
import { createDice } from '../../access/fuzz/dice.ts';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { type Json, ok } from '../../support/front-door.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import type { Listed, Opinion } from './recount.ts';
import { type Ground, SHARED, traffic } from './traffic.ts';

export interface Door {
  readonly gateway: TestGateway;
  readonly ground: Ground;
  /** All entries, as GET /logs lists them. */
  readonly entries: readonly Listed[];
  readonly opinions: readonly Opinion[];
  /** A key of each workspace, that holds every scope of its kind. */
  readonly keys: readonly string[];
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
const DAYS = 40;

/** Starts it. `env` overrides the gateway's environment. */
export async function openDoor(
  given: { readonly seed: number; readonly entries: number; readonly opinions: number },
  env: Readonly<Record<string, string>> = {},
): Promise<Door> {
  const gateway = await startGateway(env);
  const { organisationId, workspaceId } = gateway.app.tenancy;
  const other = await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Elsewhere' } });
  const workspaceIds = [workspaceId, String(other.id)];
  const keys = await Promise.all(workspaceIds.map((id) => keyOf(gateway, id)));
  await calls(gateway, keys);
  // Feedback to nobody's trace is yet to come.
  const until = Date.now() + 60_000;
  const ground: Ground = {
    organisationId,
    workspaceIds,
    from: until - DAYS * DAY_MS,
    until,
    apiKeyIds: ['key-one', 'key-two', 'key-three'],
  };
  const made = traffic(ground, given.seed, given.entries);
  for (const entry of made) gateway.app.requestLog.record(entry);
  await gateway.app.requestLog.flush();
  const before = await listed(gateway);
  const opinions = await opine(gateway, keys, ground, before, given);
  // With what was thought of them.
  const entries = await listed(gateway);
  const byId = new Map(entries.map((one) => [one.id, one]));
  for (const id of workspaceIds)
    for (const one of await listed(gateway, `&workspace_slug=${id}`))
      Object.assign(byId.get(one.id) ?? {}, { own_feedback: one.weighted_feedback });
  for (const one of opinions) if (one.entry) Object.assign(one, { entry: byId.get(one.entry.id) });
  return { gateway, ground, entries, opinions, keys, close: () => gateway.close() };
}

/** Calls of every kind: answered at once, again after retries, by another target, from the cache, and refused. */
async function calls(gateway: TestGateway, keys: readonly string[]): Promise<void> {
  const provider = await startFakeProvider();
  const target = { provider: 'openai', api_key: 'sk', custom_host: provider.origin };
  const other = { ...target, override_params: { model: 'gpt-4o-mini' } };
  const fallback = { strategy: { mode: 'fallback' }, targets: [target, other] };
  const call = async (key: string, model: string, config: object, trace: string): Promise<void> => {
    const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-gateway-api-key': key,
        'x-gateway-trace-id': trace,
        'x-gateway-config': JSON.stringify(config),
        'x-gateway-metadata': JSON.stringify({ _user: 'ann', 'team name': 'blue' }),
      },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
    });
    await answer.text();
  };
  for (const [i, key] of keys.entries()) {
    const trace = SHARED.traces[i] ?? '';
    await call(key, 'gpt-4o', target, trace);
    await call(key, `flaky-2-of-${i}`, { ...target, retry: { attempts: 3 } }, trace);
    await call(key, 'status-500', fallback, trace);
    await call(key, 'status-404', target, 'lost');
    for (let n = 0; n < 3; n++) await call(key, 'gpt-4o', { ...target, cache: { mode: 'simple' } }, 'cached');
  }
  await provider.close();
}

async function keyOf(gateway: TestGateway, workspaceId: string): Promise<string> {
  const { key } = await ok(gateway, 'POST', '/api-keys/workspace/service', {
    body: {
      name: `key of ${workspaceId}`,
      workspace_id: workspaceId,
      scopes: [...scopesOf('workspace-service')],
    },
  });
  return String(key);
}

/** Every entry of the organisation, page by page. */
export async function listed(gateway: TestGateway, query = ''): Promise<Listed[]> {
  const entries: Listed[] = [];
  for (let page = 0; ; page++) {
    const { data } = await ok(gateway, 'GET', `/logs?page_size=100&current_page=${page}${query}`);
    entries.push(...(data as Listed[]));
    if ((data as Listed[]).length < 100) return entries;
  }
}

/** Feedback to most traces, by keys of both workspaces, and to traces that nobody has heard of. */
async function opine(
  gateway: TestGateway,
  keys: readonly string[],
  { workspaceIds }: Ground,
  entries: readonly Listed[],
  given: { readonly seed: number; readonly opinions: number },
): Promise<Opinion[]> {
  const dice = createDice(given.seed + 1);
  const opinions: Opinion[] = [];
  for (const [i, key] of keys.entries()) {
    const feedback = Array.from({ length: given.opinions }, () => ({
      trace_id: dice.chance(0.9) ? dice.pick(SHARED.traces) : 'nobody',
      value: dice.below(21) - 10,
      weight: dice.below(5) / 4,
    }));
    const before = Date.now();
    const answer = await fetch(`${gateway.origin}/v1/feedback`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(feedback),
    });
    if (answer.status !== 200) throw new Error(`feedback: ${answer.status} ${await answer.text()}`);
    for (const one of feedback) {
      const entry = lastOf(entries, one.trace_id, workspaceIds[i]);
      opinions.push({ ...one, created_at: entry?.created_at ?? new Date(before).toISOString(), entry });
    }
  }
  return opinions;
}

function lastOf(
  entries: readonly Listed[],
  traceId: string,
  workspaceId: string | undefined,
): Listed | undefined {
  return entries
    .filter((one) => one.trace_id === traceId && one.workspace_id === workspaceId)
    .reduce<Listed | undefined>(
      (last, one) => (last === undefined || one.created_at > last.created_at ? one : last),
      undefined,
    );
}

/** An answer of analytics. @throws Error for any status but 200. */
export async function analytics(
  door: Pick<Door, 'gateway'>,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<Json> {
  return ok(door.gateway, 'GET', `/analytics/${path}?${new URLSearchParams(query)}`);
}
