// Pass-through: the caller's request to the provider and the provider's answer back,
// byte for byte, both ways as they come.
import { create } from '@bufbuild/protobuf';
import {
  type ForwardRequest,
  type ForwardResponse,
  ForwardResponseSchema,
  type Header,
  HeaderSchema,
  type RequestHead,
} from '../../../gen/gateway/inference/v2/proxy_pb.ts';
import type { Call } from '../../call/call.ts';
import type { Guardrails } from '../../checks/hook.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { InboundHead, StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError, invalidField, toldAlready } from '../../lib/errors.ts';
import { timeOrderedId } from '../../lib/time-ordered-id.ts';
import { Turns } from '../../lib/turns.ts';
import { authHeaders } from '../../providers/auth/index.ts';
import { locateRaw } from '../../providers/locate.ts';
import { givenHeaders } from '../../providers/options/sent.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { clip } from '../plan/faults.ts';
import { NO_TENANT } from '../plan/planned-call.ts';
import { secretCheck, staysHere } from '../plan/request-settings.ts';
import { planOf } from '../plan/select.ts';
import { readSelection, selectsNothing } from '../plan/selection.ts';
import type { RawForm } from '../raw/forms.ts';
import { type Governed, govern } from '../raw/govern.ts';
import { guardedAnswer, RefusedAnswer } from '../raw/guarded-answer.ts';
import { RawGuards } from '../raw/raw-guards.ts';
import { type RawRequest, readRawRequest } from '../raw/raw-request.ts';
import { arriving } from './arriving.ts';
import { drainedRest } from './drain.ts';
import { drainsWhenCut, HeldSignal } from './drains.ts';
import { type Forwarded, forwardRouted } from './forward-routed.ts';
import { keepBodies, recordedAnswer, recordedRequest } from './kept-bodies.ts';
import { dialectOf } from './operation-of.ts';
import type { Pipeline } from './pipeline.ts';
import type { RawListener } from './raw-listener.ts';
import { relayedHeaders } from './relayed-headers.ts';
import { bindOnly } from './run.ts';
import { type Opening, runAttempt } from './run-attempt.ts';
import { tracedHeaders } from './traced.ts';
import { ATTEMPT_HEADER } from './upstream.ts';
import { UsageTap } from './usage-tap.ts';
import { isEncoded } from './whole.ts';

/** Headers that providers read credentials from: a caller's are for the target that they were meant for. */
const CREDENTIALS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'ocp-apim-subscription-key'];

/**
 * Forwards one request. Resolves when the provider's head is at hand.
 * @param listener takes part in answers that it asks for, where they are whole, plain and of status 200
 */
export async function forward(
  pipeline: Pipeline,
  call: Call,
  messages: AsyncIterable<ForwardRequest>,
  listener?: RawListener,
): Promise<AsyncIterable<ForwardResponse>> {
  const input = messages[Symbol.asyncIterator]();
  const head = await readHead(input, call.signal);
  const listening = listener?.listens(head.method, head.path);
  const body = await readBody(input, call.signal);
  const state: BodyState = { error: undefined, bytes: 0 };
  keepBodies(call, pipeline);
  const watched = body && remember(recordedRequest(call, head, body), state);
  const request = await readRawRequest(head, watched, pipeline.raw.bodyLimit, call.signal);
  const named = request.bodyModel;
  if (request.cut && named === undefined && selectsNothing(readSelection(call.headers), undefined))
    throw modelNotFound(pipeline.raw.bodyLimit);
  const routing = await planOf(call, pipeline.planner, named);
  const tapOf = (answer: InboundHead, { target }: BoundTarget): UsageTap =>
    new UsageTap(dialectOf(pipeline, target), target.provider, answer, () =>
      Math.max(state.bytes, bodyLength(head), call.bodyBytes ?? 0),
    );
  const send = async (
    bound: BoundTarget,
    bytes: AsyncIterable<Uint8Array> | Uint8Array | undefined,
    signal: AbortLike,
  ): Promise<Forwarded> => {
    call.record.provider = bound.target.provider.id;
    const heard = listening !== undefined;
    const sent = await prepared(pipeline, call, bound, request, bytes, signal, heard);
    const held = drainsWhenCut(bound) ? new HeldSignal(pipeline.drains, call, signal, false) : undefined;
    try {
      const opening = passThrough(pipeline, call, bound, request, sent, held ?? signal);
      return await runAttempt(
        pipeline,
        call,
        opening,
        (outbound) =>
          pipeline.dialer.stream(outbound).catch((thrown: unknown) => {
            // What the caller's own body did wrong is not the provider's failure.
            throw state.error ?? thrown;
          }),
        async (answer, attempt) => {
          const tap = tapOf(answer, bound);
          const forwarded = { answer, attempt, bound, tap, tapped: false, held };
          return sent.guards === undefined ? forwarded : guarded(pipeline, forwarded, sent, signal);
        },
      );
    } catch (thrown) {
      held?.over();
      throw thrown;
    }
  };
  const forwarded = routing.plan.once
    ? await send(await bindOnly(call, routing), request.body, call.signal)
    : await forwardRouted(
        pipeline,
        call,
        routing,
        { path: head.path, params: (await request.json()) ?? {} },
        request.body,
        send,
      );
  const { answer, tap, held } = forwarded;
  call.record.status = answer.status;
  call.record.streamed = tap.streams;
  const billed = request.hasBody && !request.path.free;
  const given = answerMessages({ ...forwarded, answer: recordedAnswer(call, answer) }, billed);
  const isHeard = answer.status === 200 && !isEncoded(answer.header('content-encoding'));
  const answered = listening && isHeard ? listening(call, forwarded.bound, given) : given;
  return held === undefined ? answered : drainedRest(answered, held);
}

/** A request as one target gets it. */
interface Prepared {
  readonly body: AsyncIterable<Uint8Array> | Uint8Array | undefined;
  readonly headers: readonly Header[];
  readonly model: string;
  readonly governed: Governed;
  /** Undefined: its answer is not looked at. */
  readonly guards: RawGuards | undefined;
}

/**
 * The request with its target's model, after judgement and input guardrails.
 * @throws GatewayError forbidden, guardrail_denied (446), selection_conflict, body_too_large
 */
async function prepared(
  pipeline: Pipeline,
  call: Call,
  bound: BoundTarget,
  request: RawRequest,
  bytes: Prepared['body'],
  signal: AbortLike,
  isHeard: boolean,
): Promise<Prepared> {
  const { head, path } = request;
  const own = ownModel(pipeline, call, bound, request);
  const inBody = own ?? request.bodyModel;
  const model = path.models[0] ?? inBody;
  const governed = await govern(request, bound, inBody, pipeline.raw.paths);
  let changed = own === undefined ? undefined : request.withModel(own);
  const { form } = path;
  const hooks = bound.plan.guardrails as Guardrails | undefined;
  let guards: RawGuards | undefined;
  if (hooks !== undefined && form !== undefined) {
    const { json } = governed;
    const named = json && own !== undefined ? { ...json, model: own } : json;
    guards = new RawGuards(pipeline, call, form, bound, named, model);
    if (named !== undefined) {
      const written = await guards.input(named, signal);
      if (written !== named) changed = request.withJson(written);
    }
  }
  const looks = guards !== undefined && (hooks?.output.length ?? 0) > 0;
  const headers = changed?.headers ?? head.headers;
  return {
    body: changed?.body ?? bytes,
    headers: looks || isHeard ? plainly(headers, isHeard) : headers,
    model: model ?? '',
    governed,
    guards: looks || governed.mustRead ? (guards ?? blind(pipeline, call, bound)) : undefined,
  };
}

/** Headers that ask for an answer that can be read, and where it is heard for all of it. */
function plainly(headers: readonly Header[], whole: boolean): readonly Header[] {
  const left = whole ? /^(?:accept-encoding|range|if-range)$/i : /^accept-encoding$/i;
  return [...headers.filter(({ name }) => !left.test(name)), IDENTITY];
}

const IDENTITY: Header = create(HeaderSchema, { name: 'accept-encoding', value: 'identity' });

/** For answers of paths without a form: nothing of them is read, and streams are refused. */
function blind(pipeline: Pipeline, call: Call, bound: BoundTarget): RawGuards {
  return new RawGuards(pipeline, call, NO_FORM, bound, undefined, undefined);
}

const NO_FORM: RawForm = { name: '', view: 'other', requestType: 'proxy', fits: () => false, says: false };

/**
 * The model to write into the body: `@slug/model` without its slug.
 * @throws GatewayError selection_conflict where another stored provider is called than the model names
 */
function ownModel(
  { planner, raw }: Pipeline,
  { principal }: Call,
  { model, stored }: BoundTarget,
  request: RawRequest,
): string | undefined {
  const named = request.bodyModel;
  const [, slug, rest] = /^@([^/]{1,255})\/(.+)$/s.exec(named ?? '') ?? [];
  if (slug === undefined || named === undefined) return undefined;
  const own = model ?? (stored?.slug === slug ? rest : undefined);
  if (own === undefined) {
    // Names of some providers' models begin so, too.
    if (planner.deps.peekProvider?.(principal ?? NO_TENANT, slug) === undefined) return undefined;
    throw fail(
      'selection_conflict',
      `model: names the stored provider ${clip(slug)}, and the call goes to another one; leave the slug or the other selection out`,
      { param: 'model' },
    );
  }
  if (own === named) return undefined;
  if (!request.canChangeModel) throw modelNotFound(raw.bodyLimit);
  return own;
}

function modelNotFound(limit: number): GatewayError {
  return fail(
    'body_too_large',
    `the model of a body of more than ${limit} bytes cannot name the provider: name it with x-gateway-provider, or send a shorter body`,
    { param: 'model' },
  );
}

/** The answer after its output guardrails. What they refuse is paid for. */
async function guarded(
  pipeline: Pipeline,
  forwarded: Forwarded,
  { guards, governed }: Prepared,
  signal: AbortLike,
): Promise<Forwarded> {
  const { answer, attempt, bound } = forwarded;
  let tapped = false;
  const hear = (chunk: Uint8Array): Promise<void> | undefined => {
    tapped = true;
    return forwarded.tap.push(chunk);
  };
  try {
    const given = await guardedAnswer(answer, guards!, governed, signal, hear);
    return { ...forwarded, answer: given, tapped };
  } catch (thrown) {
    if (!(thrown instanceof RefusedAnswer)) throw thrown;
    const { target } = bound;
    const tap = tapped
      ? forwarded.tap
      : new UsageTap(dialectOf(pipeline, target), target.provider, plainHead(answer), () => 0);
    if (!tapped) void tap.push(thrown.body);
    const { model, ...heard } = tap.end();
    const unpriced = heard.usage === undefined;
    attempt.end({ status: answer.status, outcome: 'success', ...heard, unpriced, responseModel: model });
    throw thrown.error;
  }
}

/** The head of an answer that was decoded. */
function plainHead(answer: StreamedAnswer): InboundHead {
  const header = (name: string): string | undefined =>
    name === 'content-encoding' ? undefined : answer.header(name);
  return { status: answer.status, rawHeaders: answer.rawHeaders, header };
}

/** The attempt of a request as it came. @throws GatewayError invalid_header */
function passThrough(
  pipeline: Pipeline,
  call: Call,
  bound: BoundTarget,
  { head, hasBody }: RawRequest,
  sent: Prepared,
  signal: AbortLike,
): Opening {
  const own = withoutOwnKey(pipeline, call, head.path);
  const { origin, path } = locateRaw(bound.target, bound.stranger ? withoutKeys(own) : own);
  const id = timeOrderedId();
  const headers = requestHeaders(pipeline, sent.headers, bound, call, hasBody);
  if (!hasHeader(head, ATTEMPT_HEADER)) headers.push(ATTEMPT_HEADER, id);
  const { method } = head;
  const network = bound.stored?.network;
  return {
    id,
    bound,
    outbound: {
      origin,
      path,
      method,
      body: sent.body,
      signal,
      network,
      localPort: bound.target.provider.localPort,
      headers: tracedHeaders(call, headers, id),
    },
    model: sent.model,
    body: Math.max(bodyLength(head), call.bodyBytes ?? 0),
    request: NOTHING_SAID,
    makesTokens: hasBody,
    limited: true,
    estimated: false,
    tells: false,
    streams: false,
    aside: false,
    written: false,
  };
}

async function readHead(input: AsyncIterator<ForwardRequest>, signal: AbortLike): Promise<RequestHead> {
  const first = await arriving(input.next(), signal);
  if (first.done || first.value.kind.case !== 'head') throw invalidField('head', 'must be the first message');
  return first.value.kind.value;
}

/** The pieces of the body; undefined when there is none. */
async function readBody(
  input: AsyncIterator<ForwardRequest>,
  signal: AbortLike,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const first = await arriving(input.next(), signal);
  if (first.done) return undefined;
  return (async function* () {
    try {
      for (let next: IteratorResult<ForwardRequest> = first; !next.done; next = await input.next()) {
        const { kind } = next.value;
        if (kind.case !== 'chunk') throw invalidField('chunk', 'only pieces of the body may follow the head');
        if (kind.value.length > 0) yield kind.value;
      }
    } finally {
      await input.return?.();
    }
  })();
}

interface BodyState {
  error: GatewayError | undefined;
  /** Of the request, that were read so far. */
  bytes: number;
}

async function* remember(body: AsyncIterable<Uint8Array>, state: BodyState): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) {
      state.bytes += chunk.length;
      yield chunk;
    }
  } catch (thrown) {
    state.error = thrown as GatewayError;
    throw thrown;
  }
}

/** What the answer of a request that is passed through may cost is assumed. */
const NOTHING_SAID = {};

function hasHeader({ headers }: RequestHead, wanted: string): boolean {
  return headers.some(({ name }) => name.toLowerCase() === wanted);
}

/** Bytes that the head announces; 0 when it does not. */
function bodyLength({ headers }: RequestHead): number {
  const told = headers.find(({ name }) => name.toLowerCase() === 'content-length')?.value;
  return Number.isSafeInteger(Number(told)) ? Number(told) : 0;
}

/** The caller's headers without the hop's, the gateway's and its credentials, and with the provider's credential. */
function requestHeaders(
  pipeline: Pipeline,
  given: readonly Header[],
  { target, stored, stranger }: BoundTarget,
  call: Call,
  hasBody: boolean,
): string[] {
  const own = stored?.headers ?? [];
  const auth = own.length === 0 ? authHeaders(target) : withOwn(own, authHeaders(target));
  const options = givenHeaders(target);
  const ours = new Set([...auth, ...options].filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()));
  if (target.apiKey !== undefined) ours.add('authorization').add('x-api-key');
  const connection = connectionNames(given);
  if (stranger) for (const name of CREDENTIALS) ours.add(name);
  const { isOwnKey } = pipeline.planner.deps;
  const isOurs = secretCheck(call.presentedKey, isOwnKey, stranger ? call.providerCredential : undefined);
  const pairs: string[] = [];
  for (const { name, value } of given) {
    const lower = name.toLowerCase();
    const isBodys = lower === 'content-type' || (lower === 'content-length' && hasBody);
    if (!isBodys && (staysHere(lower) || connection.has(lower))) continue;
    if (ours.has(lower) || call.headers.names.owns(lower)) continue;
    if (isOurs(value)) continue;
    pairs.push(name, value);
  }
  return [...pairs, ...options, ...auth];
}

/** A key of the gateway in the query, as Google's clients may send it, is not for the provider. */
function withoutOwnKey({ planner }: Pipeline, { presentedKey }: Call, path: string): string {
  const mark = path.indexOf('?');
  if (mark === -1 || !/[?&]key=/.test(path)) return path;
  const isOurs = secretCheck(presentedKey, planner.deps.isOwnKey, undefined);
  const kept = path
    .slice(mark + 1)
    .split('&')
    .filter((pair) => !pair.startsWith('key=') || !isOurs(new URLSearchParams(pair).get('key') ?? ''));
  return kept.length === 0 ? path.slice(0, mark) : `${path.slice(0, mark)}?${kept.join('&')}`;
}

/** Some providers take a credential in the query. */
function withoutKeys(path: string): string {
  const [before = '', query] = path.split(/\?(.*)/s);
  if (query === undefined) return path;
  const kept = query
    .split('&')
    .filter((pair) => !/^(?:key|api[-_]?key|access_token|subscription-key)(?:=|$)/i.test(pair));
  return kept.length === 0 ? before : `${before}?${kept.join('&')}`;
}

/** The operator's headers before the provider's credential, which they do not replace. */
function withOwn(own: readonly string[], auth: readonly string[]): readonly string[] {
  const taken = new Set(auth.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()));
  const left = own.flatMap((name, i) =>
    i % 2 === 1 || taken.has(name.toLowerCase()) ? [] : [name, own[i + 1] ?? ''],
  );
  return [...left, ...auth];
}

function connectionNames(headers: readonly Header[]): ReadonlySet<string> {
  const named = headers.filter((header) => header.name.toLowerCase() === 'connection');
  return new Set(named.flatMap((header) => header.value.split(',').map((name) => name.trim().toLowerCase())));
}

async function* answerMessages(
  { answer, attempt, tap, tapped, held }: Forwarded,
  billed: boolean,
): AsyncGenerator<ForwardResponse> {
  let whole = false;
  const turns = new Turns();
  try {
    yield create(ForwardResponseSchema, {
      kind: { case: 'head', value: { status: answer.status, headers: relayedHeaders(answer.rawHeaders) } },
    });
    for await (const chunk of answer.body) {
      const pause = turns.step(chunk.length);
      if (pause !== undefined) await pause;
      if (tap.streams) attempt.firstToken();
      const read = tapped ? undefined : tap.push(chunk);
      if (read !== undefined) await read;
      held?.read(chunk.length);
      yield create(ForwardResponseSchema, { kind: { case: 'chunk', value: chunk } });
    }
    whole = true;
    const read = tap.ended();
    if (read !== undefined) await read;
    const { model, ...heard } = tap.end();
    if (tap.failure !== undefined && answer.status < 400)
      throw attempt.fail(toldAlready(tap.failure), heard, model);
    const isAnswered = answer.status >= 200 && answer.status < 300;
    attempt.end({
      status: answer.status,
      outcome: answer.status < 400 ? 'success' : 'error',
      ...heard,
      unpriced: billed && isAnswered && heard.usage === undefined,
      responseModel: model,
    });
  } catch (thrown) {
    const { model, ...heard } = tap.end();
    // A guardrail ended it: nothing failed at the provider.
    if (thrown instanceof GatewayError && thrown.details.told)
      attempt.end({ status: answer.status, outcome: 'success', ...heard, responseModel: model });
    throw attempt.fail(thrown, heard, model);
  } finally {
    if (!whole) {
      const { model, ...heard } = tap.end();
      attempt.fail(fail('client_closed', 'the client has left'), heard, model);
      await answer.body[Symbol.asyncIterator]().return?.();
    }
  }
}
