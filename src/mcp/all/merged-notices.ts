// The notices of all servers of a workspace in one subscription: servers that end theirs are asked again, servers that
// come are followed, servers that go are not.
import type { McpReplica } from '../../access/mcp/mcp-replica.ts';
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import { Aborter, type AbortLike } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import { eventOf, framesOf } from '../bridge/bridge-deps.ts';
import { LIST_KINDS } from '../notices/list-changes.ts';
import { MergedFrames } from '../notices/merged-frames.ts';
import type { Relayed } from '../relay/asked.ts';
import { endless } from '../relay/own-answer.ts';
import { META } from '../wire/eras.ts';
import { isObject, isResponse, type JsonObject, type RpcMessage, type RpcRequest } from '../wire/json-rpc.ts';
import { McpError, RPC } from '../wire/mcp-error.ts';
import type { Frame } from '../wire/sse-frames.ts';
import { uriAt, uriNamedBy } from './names.ts';

export interface MergedNoticesDeps {
  /** What the caller may use now. */
  readonly servers: () => readonly McpServer[];
  readonly onChanged: McpReplica['onChanged'];
  /** Subscribes at one server. @throws GatewayError, McpError */
  readonly listen: (server: McpServer, notifications: JsonObject, signal: AbortLike) => Promise<Relayed>;
}

/** What a client has subscribed to. */
interface Filter {
  readonly kinds: JsonObject;
  /** Addresses at the server, by its slug. */
  readonly uris: ReadonlyMap<string, readonly string[]>;
  readonly honored: JsonObject;
}

const MOST_SERVERS = 200;
const MOST_URIS = 1000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
const LIST_CHANGED = /^notifications\/(?:tools|prompts|resources)\/list_changed$/;

/** @throws McpError for a subscription to nothing that can be read */
export function mergedNotices(
  deps: MergedNoticesDeps,
  request: RpcRequest,
  signal: AbortLike,
): AsyncGenerator<Frame, void> {
  const { id, params } = request;
  if (!isObject(params?.notifications))
    throw new McpError(RPC.invalidParams, 'Invalid params: notifications is missing', { id });
  return notices(deps, id, filterOf(params.notifications), signal);
}

async function* notices(
  deps: MergedNoticesDeps,
  id: RpcRequest['id'],
  filter: Filter,
  signal: AbortLike,
): AsyncGenerator<Frame, void> {
  const _meta = { [META.subscription]: id };
  const notice = (method: string, params: JsonObject): Frame =>
    eventOf({ jsonrpc: '2.0', method, params: { ...params, _meta } });
  yield notice('notifications/subscriptions/acknowledged', { notifications: filter.honored });
  if (Object.keys(filter.honored).length === 0) {
    yield eventOf({ jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } });
    return;
  }
  const merged = new MergedFrames(endless());
  const left = (): void => merged.fail(signal.reason);
  signal.addEventListener('abort', left);
  if (signal.aborted) left();
  const following = new Map<string, Aborter>();
  const follow = (): void =>
    followAll(deps, filter, following, (method, params) => merged.add(notice(method, params)));
  const leave = deps.onChanged(({ kind }) => {
    if (kind !== 'connection') setImmediate(() => !signal.aborted && follow());
  });
  try {
    follow();
    yield* merged;
  } finally {
    leave();
    signal.removeEventListener('abort', left);
    for (const aborter of following.values()) aborter.abort(over());
  }
}

type Tell = (method: string, params: JsonObject) => void;

function followAll(
  deps: MergedNoticesDeps,
  filter: Filter,
  following: Map<string, Aborter>,
  tell: Tell,
): void {
  const servers = deps.servers().slice(0, MOST_SERVERS);
  const ids = new Set(servers.map(({ id }) => id));
  for (const [id, aborter] of following) {
    if (ids.has(id)) continue;
    following.delete(id);
    aborter.abort(over());
  }
  for (const server of servers) {
    if (following.has(server.id)) continue;
    const aborter = new Aborter();
    following.set(server.id, aborter);
    void followed(deps, server, filter, aborter, tell);
  }
}

/** Until the aborter ends it. Never throws. */
async function followed(
  deps: MergedNoticesDeps,
  { id, slug }: McpServer,
  { kinds, uris }: Filter,
  aborter: Aborter,
  tell: Tell,
): Promise<void> {
  const own = uris.get(slug) ?? [];
  const notifications = { ...kinds, ...(own.length === 0 ? {} : { resourceSubscriptions: own }) };
  for (let waitMs = FIRST_WAIT_MS; !aborter.aborted; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
    try {
      const server = deps.servers().find((one) => one.id === id);
      if (server === undefined) return;
      for await (const { data = '' } of framesOf(await deps.listen(server, notifications, aborter))) {
        const message = data === '' ? undefined : (JSON.parse(data) as RpcMessage);
        if (message === undefined || isResponse(message)) continue;
        waitMs = FIRST_WAIT_MS;
        const { method, params = {} } = message;
        if (LIST_CHANGED.test(method)) tell(method, {});
        else if (method === 'notifications/resources/updated' && typeof params.uri === 'string')
          tell(method, { uri: uriAt(slug, params.uri) });
      }
    } catch {}
    await pause(waitMs, aborter);
  }
}

function filterOf(asked: JsonObject): Filter {
  const kinds = Object.fromEntries(
    LIST_KINDS.map((kind) => `${kind}ListChanged`).flatMap((kind) =>
      asked[kind] === true ? [[kind, true]] : [],
    ),
  );
  const given = Array.isArray(asked.resourceSubscriptions) ? asked.resourceSubscriptions : [];
  const uris = new Map<string, string[]>();
  const honored: string[] = [];
  for (const uri of given.slice(0, MOST_URIS)) {
    const named = typeof uri === 'string' ? uriNamedBy(uri) : undefined;
    if (named === undefined) continue;
    uris.set(named.slug, [...(uris.get(named.slug) ?? []), named.name]);
    honored.push(uri);
  }
  const subscriptions = honored.length === 0 ? {} : { resourceSubscriptions: honored };
  return { kinds, uris, honored: { ...kinds, ...subscriptions } };
}

function over() {
  return fail('client_closed', 'the subscription is over');
}

function pause(ms: number, signal: Aborter): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms).unref();
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
