// The methods as gRPC, gRPC-Web and Connect handlers: the same composed functions
// that REST calls.
import { create, type DescMethod, type DescService, type Message } from '@bufbuild/protobuf';
import type { ConnectRouter, HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { createContextKey } from '@connectrpc/connect';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { Call, type CallSource, type Protocol } from '../call/call.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders, type HeaderNames, type IncomingHeaders } from '../lib/gateway-headers.ts';
import { readNow } from '../lib/lazy-message.ts';
import { nextTurn } from '../lib/time-slices.ts';
import { annotationsOf } from '../rest/routes.ts';
import { answerHeaders } from './answer-headers.ts';
import { type Input, isStream, type Output, watched } from './handler.ts';
import { isLongAnswer, longAnswer } from './long-answers.ts';
import type { Methods } from './methods.ts';
import { toConnectError } from './status.ts';

/** What is known of a request before it is a call: the peer's address, and the ids that its answer carries in any case. */
export interface Peer {
  /** The call, made by the gate before its body is read. */
  call?: Call;
  /** Called when the key is valid. */
  readonly prove?: () => void;
  /** Told of a call without a valid key. @returns why it is refused at once, when too many come from its address */
  readonly refuse?: (call: Call) => GatewayError | undefined;
  /** Whether a message is so long that decoding it and working on it are turns of the event loop of their own. */
  isLong?: boolean;
  /** A long message, decoded. */
  message?: Message | undefined;
  /** The bytes of a long answer, which the library is not to write. */
  answer?: readonly Uint8Array[];
  readonly remote: string;
  /** Stands for the connection: one object for all its requests. */
  readonly connection: object;
  readonly requestId: string;
  readonly traceId: string;
}

export const peer = createContextKey<Peer>(
  { remote: '', connection: {}, requestId: '', traceId: '' },
  { description: 'peer' },
);

/** Registers the methods of a service on a Connect router. */
export function registerMethods(
  router: ConnectRouter,
  service: DescService,
  methods: Methods,
  names: HeaderNames,
): void {
  router.service(service, implementationOf(service, methods, names));
}

function implementationOf(
  service: DescService,
  methods: Methods,
  names: HeaderNames,
): Partial<ServiceImpl<DescService>> {
  const implementation: Record<string, unknown> = {};
  for (const method of service.methods) {
    implementation[method.localName] = streams(method)
      ? (input: Input, context: HandlerContext) => streaming(method, methods, names, input, context)
      : (input: Input, context: HandlerContext) => unary(method, methods, names, input, context);
  }
  return implementation as Partial<ServiceImpl<DescService>>;
}

async function unary(
  method: DescMethod,
  methods: Methods,
  names: HeaderNames,
  input: Input,
  context: HandlerContext,
): Promise<Message> {
  const call = gated(method, names, context);
  const answer = (await run(call, methods, input, context)) as Message;
  if (annotationsOf(method).plane !== Plane.CONTROL || !isLongAnswer(answer)) return answer;
  const { requestHeader, responseHeader, values } = context;
  values.get(peer).answer = await longAnswer(method.output, answer, requestHeader, responseHeader);
  return create(method.output);
}

async function* streaming(
  method: DescMethod,
  methods: Methods,
  names: HeaderNames,
  input: Input,
  context: HandlerContext,
): AsyncGenerator<Message> {
  const call = gated(method, names, context);
  const output = await run(call, methods, input, context);
  if (!isStream(output)) throw new Error(`${method.name} must answer with a stream`);
  const plane = annotationsOf(method).plane;
  yield* watched(
    output,
    (thrown) => toConnectError(toGatewayError(thrown), plane, call.id, []),
    () => {},
  );
}

/**
 * Runs before a body of any protocol is read: who has no valid key is refused from the headers alone, through the
 * interceptors, so that the refusal is counted, audited and answered like any other.
 */
export function gateOf(
  methods: Methods,
  names: HeaderNames,
  identify: (call: Call) => boolean | Promise<boolean>,
): (context: HandlerContext) => Promise<void> {
  return async (context) => {
    const { method } = context;
    // Health and reflection are gRPC's own; open methods ask for no key.
    if (!methods.has(method) || annotationsOf(method).access.open) return;
    const call = callOf(method, names, context);
    context.values.get(peer).call = call;
    const known = identify(call);
    if (known === true || (await known)) {
      context.values.get(peer).prove?.();
      return;
    }
    const flood = context.values.get(peer).refuse?.(call);
    if (flood !== undefined)
      throw toConnectError(flood, annotationsOf(method).plane, call.id, answerHeaders(call));
    await run(call, methods, methodTakesStream(method) ? nothing() : unread, context);
    throw toConnectError(fail('unauthenticated', 'an API key is needed'), Plane.DATA, call.id, []);
  };
}

function unread(): never {
  throw fail('malformed_body', 'the body was not read');
}

async function* nothing(): AsyncGenerator<Message> {}

function gated(method: DescMethod, names: HeaderNames, context: HandlerContext): Call {
  return context.values.get(peer).call ?? callOf(method, names, context);
}

async function run(call: Call, methods: Methods, input: Input, context: HandlerContext): Promise<Output> {
  const left = (): void => call.abort(reasonOf(context.signal.reason));
  if (context.signal.aborted) left();
  else context.signal.addEventListener('abort', left, { once: true });
  try {
    if (context.values.get(peer).isLong) await nextTurn();
    const output = await methods.handler(call.method)(context.values.get(peer).message ?? input, call);
    // Serialising reads the message anyway; read here, what is wrong with it is a typed error.
    if (!isStream(output)) readNow(output);
    for (const [name, value] of answerHeaders(call)) context.responseHeader.set(name, value);
    return output;
  } catch (thrown) {
    throw toConnectError(
      toGatewayError(thrown),
      annotationsOf(call.method).plane,
      call.id,
      answerHeaders(call),
    );
  }
}

function callOf(method: DescMethod, names: HeaderNames, context: HandlerContext): Call {
  const { remote, requestId, traceId } = context.values.get(peer);
  const source: CallSource = {
    protocol: context.protocolName as Protocol,
    headers: new GatewayHeaders(names, headersOf(context.requestHeader)),
    httpMethod: context.requestMethod,
    path: `/${method.parent.typeName}/${method.name}`,
    remote,
  };
  const call = new Call(method, source, requestId);
  call.traceId = traceId;
  return call;
}

function headersOf(headers: Headers): IncomingHeaders {
  const out: Record<string, string> = {};
  headers.forEach((value, name) => {
    out[name] = value;
  });
  return out;
}

/** Connect aborts with its own errors: a passed deadline or a client that left. */
function reasonOf(reason: unknown): Error {
  const deadline = reason instanceof Error && /deadline|timed out/i.test(reason.message);
  return deadline
    ? fail('request_timeout', 'the deadline of the call has passed')
    : fail('client_closed', 'the client has left');
}

function methodTakesStream(method: DescMethod): boolean {
  return method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming';
}

function streams(method: DescMethod): boolean {
  return method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming';
}
