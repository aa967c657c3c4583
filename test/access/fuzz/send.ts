// One random call, over one of the ways in, and all that came back as text.
import { type DescMethod, getOption, type Message, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorDetailSchema } from '../../../gen/gateway/common/v2/error_pb.ts';
import { http } from '../../../gen/google/api/annotations_pb.ts';
import { Call } from '../../../src/call/call.ts';
import { toGatewayError } from '../../../src/lib/errors.ts';
import { GatewayHeaders, HeaderNames } from '../../../src/lib/gateway-headers.ts';
import { codec } from '../../../src/rest/codec.ts';
import { type Bench, exchange, type JsonObject } from '../../contract/runner.ts';

/** What came of a call. */
export interface Came {
  /** `ok`, a reason of the gateway's, or a status. */
  readonly reason: string;
  /** Everything that the caller was told. */
  readonly text: string;
  /** The first answer, where there was one. */
  readonly answer?: JsonObject;
  /** Of a call whose caller became known, where the way tells it. */
  readonly requestId?: string;
  /** What was thrown, for failures that nobody should see. */
  readonly thrown?: unknown;
}

export type Way = 'in-process' | 'rest' | 'grpc';
const NAMES = new HeaderNames(['x-gateway-']);
/** Of one stream. */
const MOST_MESSAGES = 300;

/** The messages of a call: one, or for methods that take a stream of them some. */
export async function send(
  bench: Bench,
  way: Way,
  method: DescMethod,
  messages: readonly Message[],
  headers: Record<string, string>,
): Promise<Came> {
  if (way === 'in-process') return inProcess(bench, method, messages, headers);
  const [message] = messages as [Message];
  return way === 'rest'
    ? overRest(bench, method, message, headers)
    : overGrpc(bench, method, message, headers);
}

/** Whether a way can say what is to be said. */
export function sayable(way: Way, method: DescMethod, message: Message): boolean {
  if (way === 'in-process') return true;
  if (method.methodKind === 'bidi_streaming' || method.methodKind === 'client_streaming') return false;
  try {
    toBinary(method.input, message);
  } catch {
    return false;
  }
  if (way === 'grpc') return true;
  // Lines of JSON are not for the runner.
  if (method.methodKind !== 'unary') return false;
  const { value: path } = getOption(method, http).pattern;
  if (typeof path !== 'string') return false;
  const json = codec.encode(method.input, message) as JsonObject | null;
  // A union of which nothing is chosen has no JSON.
  if (json === null) return false;
  // An empty segment makes another path.
  const fields = [...path.matchAll(/\{([a-z_]+)/g)].map(([, name]) => String(json[name as string] ?? ''));
  const broken = Object.values(json).some((value) => typeof value === 'string' && !value.isWellFormed());
  return !broken && fields.every((text) => !['', '.', '..'].includes(text));
}

async function inProcess(
  bench: Bench,
  method: DescMethod,
  messages: readonly Message[],
  given: Record<string, string>,
): Promise<Came> {
  const call = new Call(method, {
    protocol: 'in-process',
    headers: new GatewayHeaders(NAMES, given),
    httpMethod: 'POST',
    path: '/fuzz',
    remote: '127.0.0.1',
  });
  const { transport } = bench.gateway.app.rpc;
  const takesMany = method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming';
  const input = takesMany ? many(messages) : (messages[0] as Message);
  const told: JsonObject[] = [];
  try {
    const answersOnce = method.methodKind === 'unary' || method.methodKind === 'client_streaming';
    if (answersOnce) told.push(encoded(method, await transport.unary(call, input)));
    else
      for await (const message of await transport.stream(call, input)) {
        told.push(encoded(method, message));
        if (told.length >= MOST_MESSAGES) break;
      }
    return {
      reason: 'ok',
      ...idOf(call),
      text: JSON.stringify([told, [...call.answerHeaders]]),
      ...(told[0] ? { answer: told[0] } : {}),
    };
  } catch (thrown) {
    const { reason, message, details: facts } = toGatewayError(thrown);
    const { cause: _, ...shown } = facts;
    const text = JSON.stringify([message, shown, told, [...call.answerHeaders]]);
    return { reason, ...idOf(call), text, thrown };
  }
}

function idOf({ id, principal }: Call): { requestId?: string } {
  return principal === undefined ? {} : { requestId: id };
}

async function* many(messages: readonly Message[]): AsyncGenerator<Message> {
  yield* messages;
}

function encoded(method: DescMethod, message: Message): JsonObject {
  return codec.encode(method.output, message) as JsonObject;
}

async function overRest(
  bench: Bench,
  method: DescMethod,
  message: Message,
  headers: Record<string, string>,
): Promise<Came> {
  const body = codec.encode(method.input, message) as JsonObject;
  const { status, json, events, error } = await exchange(
    bench,
    { method, body, headers: only(headers) },
    'rest',
  );
  const text = JSON.stringify([json, events, error]);
  return status === 200
    ? { reason: 'ok', text, answer: json }
    : { reason: status === 500 ? 'internal' : `${status}`, text };
}

async function overGrpc(
  bench: Bench,
  method: DescMethod,
  message: Message,
  headers: Record<string, string>,
): Promise<Came> {
  const { grpc } = bench.transports;
  const told: JsonObject[] = [];
  try {
    if (method.methodKind === 'unary') {
      const answer = await grpc.unary(method as never, undefined, undefined, headers, message as never);
      told.push(encoded(method, answer.message as Message));
    } else {
      const answer = await grpc.stream(
        method as never,
        undefined,
        undefined,
        headers,
        many([message]) as never,
      );
      for await (const one of answer.message) told.push(encoded(method, one as Message));
    }
    return { reason: 'ok', text: JSON.stringify(told), ...(told[0] ? { answer: told[0] } : {}) };
  } catch (thrown) {
    if (!(thrown instanceof ConnectError)) throw thrown;
    const text = JSON.stringify([
      thrown.message,
      thrown.findDetails(ErrorDetailSchema).map((detail) => codec.encode(ErrorDetailSchema, detail)),
      told,
    ]);
    const broken = thrown.code === Code.Internal || thrown.code === Code.Unknown;
    return { reason: broken ? 'internal' : Code[thrown.code], text, thrown };
  }
}

/** The runner adds headers of an ordinary call: what is not given is taken away. */
function only(headers: Record<string, string>): Record<string, string | undefined> {
  return {
    'x-gateway-api-key': undefined,
    'x-gateway-provider': undefined,
    'x-gateway-custom-host': undefined,
    authorization: undefined,
    ...headers,
  };
}
