// The gateway's own notices in the streams of clients: lists change by what is switched here, whatever a server says.
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { eventOf, framesOf } from '../bridge/bridge-deps.ts';
import type { Asked, Relayed } from '../relay/asked.ts';
import { EVENT_HEADERS, endless } from '../relay/own-answer.ts';
import { META } from '../wire/eras.ts';
import { isObject, isRequest, type JsonObject, type RpcRequest, type RpcResponse } from '../wire/json-rpc.ts';
import { RPC } from '../wire/mcp-error.ts';
import type { Frame } from '../wire/sse-frames.ts';
import { LIST_KINDS, type ListChanges, type ListKind } from './list-changes.ts';
import { MergedFrames } from './merged-frames.ts';

export interface OwnNotices {
  readonly changes: ListChanges;
  /** What the caller may use now. */
  readonly servers: () => readonly McpServer[];
  readonly signal: AbortLike;
}

interface Said {
  readonly kinds: readonly ListKind[];
  readonly notice: (kind: ListKind) => Frame;
  readonly shown: (frame: Frame) => Frame;
}

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

/** An older client's stream of notices; one of its own where the server has none (405). */
export function noticedGet(own: OwnNotices, answer: Relayed): Relayed {
  const isNone = answer.status === 405;
  if (!isNone && (answer.body === undefined || typeof answer.body === 'string')) return answer;
  const said: Said = {
    kinds: LIST_KINDS,
    notice: (kind) => eventOf({ jsonrpc: '2.0', method: methodOf(kind) }),
    shown: (frame) => frame,
  };
  const frames = isNone ? endless() : framesOf(answer);
  return { ...answer, status: 200, headers: EVENT_HEADERS, body: noticed(frames, own, said) };
}

/** The answer to `subscriptions/listen`; a stream of the gateway's own where the server does not know the method. */
export function noticedListen(own: OwnNotices, asked: Asked, answer: Relayed): Relayed {
  const { message } = asked;
  if (!isRequest(message)) return answer;
  const { id, params } = message;
  const filter = isObject(params?.notifications) ? params.notifications : {};
  const kinds = LIST_KINDS.filter((kind) => filter[`${kind}ListChanged`] === true);
  const _meta = { [META.subscription]: id };
  const honored = Object.fromEntries(kinds.map((kind) => [`${kind}ListChanged`, true]));
  const said: Said = {
    kinds,
    notice: (kind) => eventOf({ jsonrpc: '2.0', method: methodOf(kind), params: { _meta } }),
    shown: (frame) => acknowledged(frame, honored),
  };
  const isUnknown = answer.response?.error?.code === RPC.methodNotFound;
  if (isUnknown) {
    const first = eventOf({ jsonrpc: '2.0', method: ACKNOWLEDGED, params: { notifications: {}, _meta } });
    const { response: _, ...rest } = answer;
    return { ...rest, status: 200, headers: EVENT_HEADERS, body: noticed(endless(first), own, said) };
  }
  if (answer.body === undefined || typeof answer.body === 'string') return answer;
  return { ...answer, body: noticed(framesOf(answer), own, said) };
}

/** What a server says of itself, and that the gateway tells when a list changes. */
export function withListChanged(answer: Relayed): Relayed {
  const { body, response } = answer;
  if (body === undefined) return answer;
  if (typeof body !== 'string') return { ...answer, body: changedFrames(answer) };
  const own = response && changedCapabilities(response);
  return own === undefined ? answer : { ...answer, body: JSON.stringify(own), response: own };
}

async function* changedFrames(answer: Relayed): AsyncGenerator<Frame, void> {
  for await (const frame of framesOf(answer)) {
    const own = frame.response && changedCapabilities(frame.response);
    yield own === undefined ? frame : { ...frame, data: JSON.stringify(own), response: own };
  }
}

function changedCapabilities(response: RpcResponse): RpcResponse | undefined {
  const { result } = response;
  if (!isObject(result?.capabilities)) return undefined;
  const own: Record<string, unknown> = { ...result.capabilities };
  for (const kind of LIST_KINDS) if (isObject(own[kind])) own[kind] = { ...own[kind], listChanged: true };
  return { ...response, result: { ...result, capabilities: own } };
}

async function* noticed(
  frames: AsyncIterable<Frame>,
  { changes, servers, signal }: OwnNotices,
  { kinds, notice, shown }: Said,
): AsyncGenerator<Frame, void> {
  const merged = new MergedFrames(frames);
  const left = (): void => merged.fail(signal.reason);
  signal.addEventListener('abort', left);
  if (signal.aborted) left();
  const leave = changes.watch(servers, (kind) => {
    if (kinds.includes(kind)) merged.add(notice(kind));
  });
  try {
    for await (const frame of merged) yield shown(frame);
  } finally {
    leave();
    signal.removeEventListener('abort', left);
  }
}

/** The gateway keeps what the server does not promise. */
function acknowledged(frame: Frame, honored: JsonObject): Frame {
  const { data = '' } = frame;
  if (!data.includes(ACKNOWLEDGED)) return frame;
  const message = JSON.parse(data) as RpcRequest;
  if (message.method !== ACKNOWLEDGED) return frame;
  const { params = {} } = message;
  const theirs = isObject(params.notifications) ? params.notifications : {};
  const own = { ...message, params: { ...params, notifications: { ...theirs, ...honored } } };
  return { ...frame, data: JSON.stringify(own) };
}

function methodOf(kind: ListKind): string {
  return `notifications/${kind}/list_changed`;
}
