// The relay: a request in the generation that the upstream speaks, too. The wire is passed on and filtered.
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import type { McpDeps } from '../deps.ts';
import { liveSwitches } from '../live-switches.ts';
import { MOST_SESSION_ID } from '../session-ids.ts';
import type { ToldTasks } from '../tasks/told-tasks.ts';
import { dropped, exchange, formOf, wholeText } from '../upstream/exchange.ts';
import type { Target } from '../upstream/target.ts';
import type { Switched } from '../visibility.ts';
import { isRequest, type RpcResponse } from '../wire/json-rpc.ts';
import { RPC } from '../wire/mcp-error.ts';
import { FrameReader } from '../wire/sse-frames.ts';
import { checkedMessage, type Expected, garbage } from './answer-check.ts';
import type { Answer, Asked, AskedWithout, Relayed } from './asked.ts';
import { EVENT_HEADERS, JSON_HEADERS } from './own-answer.ts';
import type { Patience } from './patience.ts';
import { relayedEvents } from './relayed-events.ts';

interface RelayDeps
  extends Pick<McpDeps, 'dialer' | 'bounds' | 'auth' | 'lines' | 'programs' | 'tasks' | 'checksResults'> {
  readonly replica: Pick<McpDeps['replica'], 'serverBySlug'>;
}

/** Headers of the protocol that go on as they came, by lower-case name. */
const PROTOCOL_HEADERS = ['accept', 'mcp-protocol-version', 'last-event-id'];
/** Of revisions that have them, where they were compared with the body. */
const ROUTING_HEADERS = ['mcp-method', 'mcp-name'];

/**
 * Sends a client's message on.
 * @throws GatewayError, McpError when no answer has begun
 */
export async function relayPost(deps: RelayDeps, target: Target, asked: Asked): Promise<Relayed> {
  const { message, signal } = asked;
  const answer = await exchange(deps, target, {
    method: 'POST',
    headers: [...protocolHeaders(asked), 'content-type', 'application/json'],
    body: asked.text,
    isSafe: 'method' in message && message.method !== 'tools/call',
    signal,
    patience: asked.patience,
  });
  if (!('method' in message)) asked.patience?.answered();
  const id = isRequest(message) ? message.id : undefined;
  await refuseChallenge(deps, target, asked, answer);
  const session = sessionOf(answer);
  const isForgotten = answer.status === 404 && asked.session !== undefined;
  const about = { session, isForgotten };
  if (id === undefined) return { ...(await noticeAnswer(answer)), ...about };
  const method = 'method' in message ? message.method : '';
  const server = liveSwitches(deps.replica, asked.server, asked.principal);
  const expected: Expected = { server, era: asked.era, id, method, told: told(deps, server, asked) };
  if (formOf(answer) === 'events' && answer.status === 200)
    return { ...eventsAnswer(deps, answer, expected, asked.patience), ...about };
  return { ...(await jsonAnswer(deps, answer, expected, isForgotten)), ...about };
}

/** Opens the stream of notices of a session. @throws GatewayError */
export async function relayGet(deps: RelayDeps, target: Target, asked: AskedWithout): Promise<Relayed> {
  const headers = protocolHeaders(asked);
  const answer = await exchange(deps, target, {
    method: 'GET',
    headers,
    signal: asked.signal,
    isSafe: true,
  });
  await refuseChallenge(deps, target, asked, answer);
  const about = { session: undefined, isForgotten: answer.status === 404 };
  if (answer.status !== 200 || formOf(answer) !== 'events')
    return { ...(await noticeAnswer(answer)), ...about };
  const server = liveSwitches(deps.replica, asked.server, asked.principal);
  const own = told(deps, server, asked);
  const expected: Expected = {
    server,
    era: asked.era,
    id: undefined,
    method: '',
    told: own,
    checksResults: deps.checksResults(asked.server),
  };
  return { ...eventsAnswer(deps, answer, expected, asked.patience), ...about };
}

/** Ends a session. @throws GatewayError */
export async function relayDelete(deps: RelayDeps, target: Target, asked: AskedWithout): Promise<Relayed> {
  const headers = protocolHeaders(asked);
  const answer = await exchange(deps, target, { method: 'DELETE', headers, signal: asked.signal });
  await refuseChallenge(deps, target, asked, answer);
  return { ...(await noticeAnswer(answer)), session: undefined, isForgotten: answer.status === 404 };
}

/** How the server's tasks are told to the caller. */
function told(
  { tasks }: RelayDeps,
  server: Switched,
  asked: AskedWithout & Partial<Pick<Asked, 'message'>>,
): ToldTasks {
  const { principal, message } = asked;
  const call = message !== undefined && isRequest(message) ? message : undefined;
  const name = call?.method === 'tools/call' ? call.params?.name : undefined;
  return {
    tasks: tasks.of(asked.server.id, principal),
    server,
    method: call?.method ?? '',
    tool: typeof name === 'string' ? name : undefined,
    session: asked.taskSession,
    task: call?.method.startsWith('tasks/') ? asked.tasks?.[0] : undefined,
  };
}

function protocolHeaders({ headers, session, era }: AskedWithout): string[] {
  const names = era === 'modern' ? [...PROTOCOL_HEADERS, ...ROUTING_HEADERS] : PROTOCOL_HEADERS;
  const pairs = names.flatMap((name) => {
    const value = headers.plain(name);
    return value === undefined ? [] : [name, value];
  });
  for (const name of Object.keys(headers.raw))
    if (era === 'modern' && name.startsWith('mcp-param-')) pairs.push(name, headers.plain(name) ?? '');
  if (session !== undefined) pairs.push('mcp-session-id', session);
  return pairs;
}

/** An upstream that wants other credentials is no refusal of this gateway. */
async function refuseChallenge(
  { auth }: RelayDeps,
  { headers }: Target,
  { server, principal }: AskedWithout,
  answer: StreamedAnswer,
): Promise<void> {
  const { status } = answer;
  if (status !== 401 && status !== 403) return;
  await dropped(answer);
  const at = headers.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === 'authorization');
  const sent = /^bearer +(\S+)$/i.exec(headers[at + 1] ?? '')?.[1];
  throw await auth.refused(server, principal, { status, challenge: answer.header('www-authenticate'), sent });
}

/** The answer to a notification or a response: the status alone, without the upstream's text. */
async function noticeAnswer(answer: StreamedAnswer): Promise<Answer> {
  await dropped(answer);
  if (answer.status >= 500)
    throw fail('upstream_status', `the MCP server answered with the status ${answer.status}`);
  return { status: answer.status === 200 ? 202 : answer.status, headers: [], body: undefined };
}

async function jsonAnswer(
  { bounds }: RelayDeps,
  answer: StreamedAnswer,
  expected: Expected,
  isForgotten: boolean,
): Promise<Answer> {
  const bytes = await wholeText(answer, bounds.messageBytes, bounds.silenceMs);
  if (formOf(answer) !== 'json' && answer.status < 400)
    throw garbage('answered with what is no message of the protocol');
  const text = bytes.toString('utf8');
  if (answer.status >= 400 && (formOf(answer) !== 'json' || !/"jsonrpc"/.test(text))) {
    if (isForgotten) return forgotten(expected.id);
    throw fail('upstream_status', `the MCP server answered with the status ${answer.status}`);
  }
  const { text: shown, response } = await checkedMessage(text, expected);
  if (response === undefined) throw garbage('did not answer the request');
  return { status: answer.status, headers: JSON_HEADERS, body: shown, response };
}

/** A session that the upstream has forgotten is 404 for the client, too: it begins a new one. */
function forgotten(id: Expected['id'] = 0): Answer {
  const error = { code: RPC.noSession, message: 'Session not found: initialize again' };
  const response: RpcResponse = { jsonrpc: '2.0', id, error };
  return { status: 404, headers: JSON_HEADERS, body: JSON.stringify(response), response };
}

function eventsAnswer(
  { bounds }: RelayDeps,
  answer: StreamedAnswer,
  expected: Expected,
  patience: Patience | undefined,
): Answer {
  const reader = new FrameReader(bounds.messageBytes);
  return {
    status: 200,
    headers: EVENT_HEADERS,
    body: relayedEvents(answer.body, reader, expected, bounds.silenceMs, patience),
  };
}

function sessionOf(answer: StreamedAnswer): string | undefined {
  const id = answer.header('mcp-session-id');
  if (id === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(id) || id.length > MOST_SESSION_ID)
    throw garbage('gave a session id that cannot be kept');
  return id;
}
