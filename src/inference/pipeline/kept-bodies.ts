// Keeps the bodies of a call as references, which are read when they are written after the call.
import type { Message } from '@bufbuild/protobuf';
import type { RequestHead } from '../../../gen/gateway/inference/v2/proxy_pb.ts';
import type { CallBodies, Passing } from '../../call/bodies.ts';
import type { Call } from '../../call/call.ts';
import type { InboundHead, OutboundRequest, StreamedAnswer } from '../../lib/egress/outbound.ts';
import { Pieces } from '../../lib/incoming/pieces.ts';
import { jsonBody } from '../../lib/json-in-slices.ts';
import { rawJsonOf } from '../../lib/raw-json.ts';
import type { Target } from '../../providers/dialect.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import type { Assembled } from './pieces/piece-form.ts';
import { pieceForm } from './pieces/piece-forms.ts';
import type { Pipeline } from './pipeline.ts';
import { secretsOf } from './without-credential.ts';

type Keeps = Pick<Pipeline, 'keepsBodies' | 'keepsWords'>;

/** Bodies, and words of errors, are kept from here on, unless the caller wants none to be. */
export function keepBodies(call: Call, { keepsBodies, keepsWords }: Keeps): void {
  const workspaceId = call.principal?.workspaceId;
  const silent = call.headers.get('debug') === 'false';
  call.wordless = silent || !keepsWords(workspaceId);
  if (silent || !keepsBodies(workspaceId)) return;
  const { presentedKey, providerCredential } = call;
  const targets: Target[] = [];
  call.bodies = {
    request: undefined,
    response: undefined,
    sent: undefined,
    received: undefined,
    hooks: undefined,
    targets,
    passing: {},
    secrets: () =>
      [presentedKey, providerCredential, ...targets.flatMap(secretsOf)].filter((text) => text !== undefined),
  };
}

/** The caller's request. */
export function noteRequest({ bodies }: Call, name: OperationName, request: object): void {
  if (bodies === undefined) return;
  const { request: schema, hasBody } = operationRow(name);
  if (!hasBody) return;
  const text: CallBodies['request'] = () =>
    rawJsonOf(request) ?? jsonBody(codec.encode(schema, request as Message));
  bodies.request = text;
}

/** The answer as it goes to the caller; the pieces of a stream are collected as they pass, unless they are already. */
export function noteAnswer<Answer extends object>(call: Call, name: OperationName, answer: Answer): Answer {
  const { bodies } = call;
  if (bodies === undefined) return answer;
  if (!(Symbol.asyncIterator in answer)) {
    noteWhole(call, name, answer);
    return answer;
  }
  if (bodies.response !== undefined) return answer;
  return assembling(answer as AsyncIterable<object>, assembledIn(call, name)!) as unknown as Answer;
}

export function noteWhole({ bodies }: Call, name: OperationName, answer: object): void {
  if (bodies === undefined) return;
  const schema = operationRow(name).answer;
  const text: CallBodies['response'] = () =>
    rawJsonOf(answer) ?? jsonBody(codec.encode(schema, answer as Message));
  bodies.response = text;
}

/** Where the pieces of a streamed answer go; undefined when they are not kept. */
export function assembledIn({ bodies }: Call, name: OperationName): Assembled | undefined {
  if (bodies === undefined) return undefined;
  const assembled = pieceForm(name).assembled();
  const text: CallBodies['response'] = () => assembled.json();
  bodies.response = text;
  bodies.passing.response = assembled;
  return assembled;
}

/** A target that is called: an answer may repeat its credential. */
export function noteTarget({ bodies }: Call, target: Target): void {
  bodies?.targets.push(target);
}

/** The request to the provider; nothing is known of its answer yet. */
export function noteSent(
  { bodies }: Call,
  { method, origin, path, headers, body }: OutboundRequest,
  target: Target,
): void {
  if (bodies === undefined) return;
  bodies.targets.push(target);
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : undefined;
  bodies.sent = { method, url: origin + path, headers, body: text };
  bodies.received = undefined;
}

/** The provider's answer. */
export function noteReceived({ bodies }: Call, head: InboundHead, body?: Uint8Array): void {
  if (bodies === undefined) return;
  bodies.received = { status: head.status, headers: () => head.rawHeaders, body };
}

/** Of a body that is passed through and held, in bytes: a character more than is kept, so that it shows where to cut. */
const MAX_HEARD = 1024 * 1024 + 4;

/** The beginning of a body that passes. */
class BodyRecorder implements Passing {
  readonly #pieces = new Pieces(true);
  held = 0;
  left = 0;

  add(piece: Uint8Array): void {
    const size = Math.min(piece.length, MAX_HEARD - this.held);
    if (size > 0) this.#pieces.push(piece.subarray(0, size));
    this.held += size;
    this.left += piece.length - size;
  }

  readonly bytes = (): Uint8Array => {
    const whole = this.#pieces.take();
    if (whole.length > 0) this.#pieces.push(whole);
    return whole;
  };
}

/** A pass-through request's body, its beginning kept as it passes. */
export function recordedRequest(
  { bodies }: Call,
  { method, path, headers }: RequestHead,
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  if (bodies === undefined) return body;
  const recorder = new BodyRecorder();
  bodies.request = recorder.bytes;
  bodies.passing.request = recorder;
  bodies.sent = { method, url: path, headers: () => headers.flatMap(({ name, value }) => [name, value]) };
  return recorded(body, recorder);
}

/** A pass-through answer, the beginning of its body kept as it passes where it is text. */
export function recordedAnswer({ bodies }: Call, answer: StreamedAnswer): StreamedAnswer {
  if (bodies === undefined) return answer;
  bodies.received = { status: answer.status, headers: () => answer.rawHeaders };
  const type = answer.header('content-type') ?? '';
  if (!/^(?:text\/|application\/(?:json|x-ndjson|problem\+json))/i.test(type)) return answer;
  const coding = answer.header('content-encoding') ?? 'identity';
  if (coding !== 'identity' && coding !== '') return answer;
  const recorder = new BodyRecorder();
  bodies.response = recorder.bytes;
  bodies.passing.response = recorder;
  return {
    status: answer.status,
    get rawHeaders() {
      return answer.rawHeaders;
    },
    header: (name) => answer.header(name),
    body: recorded(answer.body, recorder),
  };
}

async function* recorded(
  body: AsyncIterable<Uint8Array>,
  recorder: BodyRecorder,
): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    recorder.add(piece);
    yield piece;
  }
}

async function* assembling(
  events: AsyncIterable<object>,
  assembled: Assembled,
): AsyncGenerator<object, void> {
  for await (const event of events) {
    assembled.push(event);
    yield event;
  }
}
