// REST: a route of the contract, or pass-through. JSON in, message through the
// in-process transport, JSON or server-sent events out.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  create,
  type DescMessage,
  type DescMethod,
  type Message,
  type MessageInitShape,
} from '@bufbuild/protobuf';
import type { BinaryAnswer } from '../../gen/gateway/inference/v2/common_pb.ts';
import { type ForwardResponse, ProxyService } from '../../gen/gateway/inference/v2/proxy_pb.ts';
import { Form, Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { Call } from '../call/call.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';
import type { Pace } from '../lib/incoming/pace.ts';
import type { ReadingBudget } from '../lib/incoming/reading-budget.ts';
import { jsonInSlices } from '../lib/json-in-slices.ts';
import { attachRawJson, rawJsonOf } from '../lib/raw-json.ts';
import { readTimeout, timedOut } from '../lib/request-timeout.ts';
import { nextTurn } from '../lib/time-slices.ts';
import { bodyLimitOf } from '../rest/body-limit.ts';
import { codec } from '../rest/codec.ts';
import { isFaithful } from '../rest/faithful-json.ts';
import { answersBytes, type FormShape, formOf as formShapeOf } from '../rest/form-shape.ts';
import { isTooHeavy, LIGHT_BYTES } from '../rest/json-weight.ts';
import { createLookalikes } from '../rest/lookalikes.ts';
import { bindPath, readQuery } from '../rest/query.ts';
import { annotationsOf, type Route, type RouteMatch, type RouteTable } from '../rest/routes.ts';
import { answerHeaders } from '../rpc/answer-headers.ts';
import type { InProcess } from '../rpc/in-process.ts';
import { controlInput } from './control-input.ts';
import { ResponseSink } from './event-sink.ts';
import { formRequest } from './form-request.ts';
import { Leave } from './leave.ts';
import { forwardRequest, writeForwarded } from './pass-through.ts';
import { BodyReader } from './read-body.ts';
import { isForm } from './read-form.ts';
import { type Pairs, respondError, respondJson } from './respond.ts';
import { strayHeaders } from './stray-headers.ts';
import { writeBytes } from './write-bytes.ts';
import { writeEvents } from './write-events.ts';
import { writeLines } from './write-lines.ts';
import { writeNative } from './write-native.ts';

/** What the REST surface is built of. */
export interface RestDeps {
  readonly routes: RouteTable;
  readonly transport: InProcess;
  readonly names: HeaderNames;
  /** Bytes. */
  readonly bodyLimit: number;
  /** Finds out who calls, from the headers alone; false: no valid key. */
  readonly identify: (call: Call) => boolean | Promise<boolean>;
  /** Told of calls without a valid key. @returns why one is refused at once, when too many come from its address */
  readonly refuse: (call: Call, req: IncomingMessage) => GatewayError | undefined;
  /** Told of requests with a valid key. */
  readonly prove: (req: IncomingMessage) => void;
  readonly pace: Pace;
  readonly budget: ReadingBudget;
  /** Whether no more calls are taken now; asked before a body is read. */
  readonly full: (control: boolean) => boolean;
}

/** Answers one request whose path lies under a base path. */
export type RestHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

const BASE = /^\/v[12](?=\/|$)/;
/** Where Google's and AWS's clients find their paths: a version of Google's stays a part of the path. */
const NATIVE =
  /^\/(?:v1beta(?:\d+)?\/|model\/[^/?]+\/(?:converse|converse-stream|invoke|invoke-with-response-stream|count-tokens)(?:\?|$))/;
/** List prices are asked for without a base path, as clients of this ecosystem do. */
const ROOT = /^\/model-configs\/pricing\/[^/?]+\/[^?]/;
/** What joining a base that ends in a slash with a path gives. */
const LEADING_SLASHES = /^\/{2,}/;
/** Files of callers in Anthropic's form, which has neither a purpose nor times as numbers: they are its own to read. */
const FILES = /^\/files(?=\/|$)/;
const FORWARDED_VERBS = ['POST', 'GET', 'PUT', 'DELETE'];

/** Whether a URL is the REST surface's. */
export function isRest(url: string): boolean {
  return BASE.test(url) || ROOT.test(url) || NATIVE.test(url);
}

export function createRest(deps: RestDeps): RestHandler {
  const bodies = new BodyReader(deps.pace, deps.budget);
  let lookalikes: ReturnType<typeof createLookalikes> | undefined;
  const limits = new Map<DescMethod, number>();
  const limitOf = (method: DescMethod): number => {
    const known = limits.get(method) ?? bodyLimitOf(method, deps.bodyLimit);
    limits.set(method, known);
    return known;
  };
  return async (req, res) => {
    const url = req.url ?? '/';
    const raw = ROOT.test(url) || NATIVE.test(url) ? url : url.slice(3).replace(LEADING_SLASHES, '/') || '/';
    const mark = raw.indexOf('?');
    const path = mark === -1 ? raw : raw.slice(0, mark);
    const verb = req.method ?? 'GET';
    const isProxy = path.startsWith('/proxy/');
    const isForeign = req.headers['anthropic-version'] !== undefined && FILES.test(path);
    const match = isProxy || isForeign ? undefined : deps.routes.match(verb, path);
    const plane = match?.route.plane ?? Plane.DATA;
    // Asked before a body is read; the interceptor that counts has the last word.
    if (deps.full(plane === Plane.CONTROL))
      return respondError(res, overloaded(), { plane, ...formOf(match) }, strayHeaders(deps.names, req));
    if (isProxy) return passThrough(deps, req, res, raw.slice('/proxy'.length));
    if (isForeign && FORWARDED_VERBS.includes(verb)) return passThrough(deps, req, res, raw);
    const form = match && formShapeOf(match.route.method);
    if (match && form) return formOperation(deps, bodies, req, res, match, path, form);
    if (match)
      return operation(
        deps,
        bodies,
        limitOf(match.route.method),
        req,
        res,
        match,
        path,
        mark === -1 ? '' : raw.slice(mark + 1),
      );
    const declared = deps.routes.declared(path);
    if (declared.verbs.length === 0) lookalikes ??= createLookalikes(deps.routes.routes);
    const nearest = declared.verbs.length === 0 ? lookalikes?.nearest(path) : undefined;
    if (nearest !== undefined)
      return respondError(
        res,
        unknownPath(path, nearest),
        { plane: Plane.CONTROL },
        strayHeaders(deps.names, req),
      );
    if (declared.control || !FORWARDED_VERBS.includes(verb)) {
      const allow = declared.control ? declared.verbs : [...new Set([...declared.verbs, ...FORWARDED_VERBS])];
      const error = fail('method_not_allowed', `${verb} is not an operation of this path`);
      const plane = declared.control ? Plane.CONTROL : Plane.DATA;
      const headers: Pairs = [...strayHeaders(deps.names, req), ['allow', allow.join(', ')]];
      const { aliased } = new GatewayHeaders(deps.names, req.headers);
      const known = deps.routes.match(declared.verbs[0] ?? '', path);
      const form = known ? annotationsOf(known.route.method).form : passedFormOf(req, path);
      return respondError(res, error, { plane, aliased, ...(form === undefined ? {} : { form }) }, headers);
    }
    return passThrough(deps, req, res, raw);
  };
}

async function operation(
  deps: RestDeps,
  bodies: BodyReader,
  bodyLimit: number,
  req: IncomingMessage,
  res: ServerResponse,
  { route, values }: RouteMatch,
  path: string,
  query: string,
): Promise<void> {
  if (route.method.methodKind === 'bidi_streaming') return withoutUpgrade(deps, req, res, route, path);
  const call = callOf(deps, route.method, req, req.method ?? '', path);
  new Leave(req, res).tell((error) => call.abort(error));
  try {
    if (!route.hasBody && !annotationsOf(route.method).access.open) await isKnown(deps, call, req);
    const body = route.hasBody ? await readBody(deps, bodies, bodyLimit, call, req, route.plane) : undefined;
    const asks = route.hasBody ? wantsStream(body) : STREAM_QUERY.test(query);
    const streamed = route.streamMethod !== undefined && asks;
    if (streamed && route.streamMethod) call.method = route.streamMethod;
    const { method } = call;
    const input = (): Message => {
      const { input: desc } = method;
      if (body?.error) throw body.error;
      if (route.plane === Plane.CONTROL) return controlInput(call, route, values, query, body?.json);
      if (!route.hasBody) return codec.decodeRequest(desc, bindPath(desc, readQuery(desc, query), values));
      if (values.size > 0)
        return codec.decodeRequest(desc, bindPath(desc, { ...(body?.json as object) }, values));
      const message = codec.decodeRequest(desc, body?.json);
      if (!body?.isFaithful()) return message;
      return attachRawJson(message, body.bytes, body.json);
    };
    if (streamed) {
      const messages = await deps.transport.stream(call, input);
      const { form } = annotationsOf(method);
      const shape = { plane: route.plane, form, requestId: call.id };
      await writeEvents(
        new ResponseSink(res),
        call.record.status ?? 200,
        method.output,
        messages,
        namedIn(form, call, answerHeaders(call)),
        shape,
      );
      return;
    }
    if (answersBytes(method)) {
      const messages = (await deps.transport.stream(call, input)) as AsyncIterable<BinaryAnswer>;
      await writeBytes(res, call.record.status ?? 200, messages, () => answerHeaders(call));
      return;
    }
    if (method.methodKind === 'server_streaming') {
      const messages = await deps.transport.stream(call, input);
      const { form } = annotationsOf(method);
      if (form !== Form.UNSPECIFIED) {
        const shape = { plane: route.plane, form, requestId: call.id };
        const { status = 200 } = call.record;
        await writeNative(res, status, method.output, messages, answerHeaders(call), shape, query);
        return;
      }
      await writeLines(res, method.output, messages, answerHeaders(call));
      return;
    }
    const answer = await deps.transport.unary(call, input);
    const json = rawJsonOf(answer) ?? writtenJson(route.plane, codec.encode(method.output, answer));
    const { form } = annotationsOf(method);
    const written = json instanceof Promise ? await json : json;
    respondJson(res, call.record.status ?? 200, written, namedIn(form, call, answerHeaders(call)));
  } catch (thrown) {
    refuse(res, toGatewayError(thrown), route.plane, call);
  }
}

/** Lists of the control plane may be long: they are written in slices of the event loop. */
function writtenJson(plane: Plane, value: unknown): string | Promise<string | Uint8Array> {
  return plane === Plane.CONTROL ? jsonInSlices(value) : JSON.stringify(value);
}

/** An operation that takes a form: its messages are read while they come. */
async function formOperation(
  deps: RestDeps,
  bodies: BodyReader,
  req: IncomingMessage,
  res: ServerResponse,
  { route, values }: RouteMatch,
  path: string,
  form: FormShape,
): Promise<void> {
  const { method } = route;
  const call = callOf(deps, method, req, req.method ?? '', path);
  new Leave(req, res).tell((error) => call.abort(error));
  try {
    // Without a valid key the interceptors refuse the call before its body is read.
    const known = await isKnown(deps, call, req);
    const isJson = form.orJson && JSON_TYPE.test(req.headers['content-type'] ?? '');
    if (known && !isJson && !isForm(req.headers['content-type']))
      throw fail(
        'unsupported_media_type',
        `content-type: must be multipart/form-data with a boundary${form.orJson ? ', or application/json' : ''}`,
        {
          param: 'content-type',
        },
      );
    const body = isJson ? await readBody(deps, bodies, deps.bodyLimit, call, req, route.plane) : undefined;
    const messages = body
      ? headAlone(method.input, form, values, body)
      : formRequest(deps, call, req, method.input, form, values);
    // What the answer is, the provider says: a form may ask for events or for text after its file, too.
    if (route.streamMethod !== undefined && answersBytes(route.streamMethod)) {
      call.method = route.streamMethod;
      const bytes = (await deps.transport.stream(call, messages)) as AsyncIterable<BinaryAnswer>;
      await writeBytes(res, call.record.status ?? 200, bytes, () => answerHeaders(call));
      return;
    }
    const answer = await deps.transport.unary(call, messages);
    const json = JSON.stringify(codec.encode(method.output, answer));
    respondJson(res, call.record.status ?? 200, json, answerHeaders(call));
  } catch (thrown) {
    refuse(res, toGatewayError(thrown), route.plane, call);
  }
}

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** A form's texts as JSON. @throws GatewayError the body's fault */
async function* headAlone(
  input: DescMessage,
  { head }: FormShape,
  values: ReadonlyMap<string, string>,
  { json, error }: Parsed,
): AsyncGenerator<Message> {
  if (error) throw error;
  const value = codec.decodeRequest(head, bindPath(head, { ...(json as object) }, values));
  yield create(input, { kind: { case: 'head', value } } as MessageInitShape<DescMessage>);
}

/** A plain request for what is a WebSocket: a caller without a valid key is refused as everywhere, others are told. */
async function withoutUpgrade(
  deps: RestDeps,
  req: IncomingMessage,
  res: ServerResponse,
  { method, plane }: Route,
  path: string,
): Promise<void> {
  const call = callOf(deps, method, req, req.method ?? '', path);
  try {
    if (!(await isKnown(deps, call, req))) await deps.transport.stream(call, (async function* () {})());
  } catch (thrown) {
    return refuse(res, toGatewayError(thrown), plane, call);
  }
  respondError(res, notUpgraded(path), { plane }, [
    ...strayHeaders(deps.names, req),
    ['upgrade', 'websocket'],
  ]);
}

async function passThrough(
  deps: RestDeps,
  req: IncomingMessage,
  res: ServerResponse,
  rawPath: string,
): Promise<void> {
  if (!FORWARDED_VERBS.includes(req.method ?? '')) {
    const error = fail('method_not_allowed', `${req.method} is not passed through`);
    return respondError(res, error, { plane: Plane.DATA, form: passedFormOf(req, rawPath) }, [
      ...strayHeaders(deps.names, req),
      ['allow', FORWARDED_VERBS.join(', ')],
    ]);
  }
  const call = callOf(deps, ProxyService.method.forward, req, req.method ?? '', rawPath.split('?', 1)[0]!);
  new Leave(req, res).tell((error) => call.abort(error));
  try {
    // Without a valid key the interceptors refuse the call before its body is read.
    await isKnown(deps, call, req);
    const messages = await deps.transport.stream(call, forwardRequest(deps, call, req, rawPath));
    await writeForwarded(res, messages as AsyncIterable<ForwardResponse>, () => answerHeaders(call));
  } catch (thrown) {
    refuse(res, toGatewayError(thrown), Plane.DATA, call, passedFormOf(req, rawPath));
  }
}

function isKnown(deps: RestDeps, call: Call, req: IncomingMessage): boolean | Promise<boolean> {
  const known = deps.identify(call);
  return typeof known === 'boolean'
    ? judged(deps, call, req, known)
    : known.then((yes) => judged(deps, call, req, yes));
}

/** @throws GatewayError rate_limited for one of too many calls without a valid key */
function judged(deps: RestDeps, call: Call, req: IncomingMessage, known: boolean): boolean {
  if (known) deps.prove(req);
  else {
    const error = deps.refuse(call, req);
    if (error !== undefined) throw error;
  }
  return known;
}

/** The body, read within the caller's time. Without a valid key it is not read: the interceptors refuse the call. */
async function readBody(
  deps: RestDeps,
  bodies: BodyReader,
  bodyLimit: number,
  call: Call,
  req: IncomingMessage,
  plane: Plane,
): Promise<Parsed> {
  if (!annotationsOf(call.method).access.open) {
    const known = isKnown(deps, call, req);
    if (!(known === true || (await known))) return unread;
  }
  const timeoutMs = timeoutOf(call);
  if (timeoutMs !== undefined) call.expireAfter(timeoutMs, () => timedOut(timeoutMs));
  try {
    const untyped = annotationsOf(call.method).form === Form.BEDROCK;
    const bytes = await bodies.read(req, bodyLimit, call.signal, call.identity?.principal.keyId, untyped);
    call.bodyBytes = bytes.length;
    // Operations of the control plane whose path says all take no body as an empty one.
    const given = bytes.length === 0 && plane === Plane.CONTROL ? EMPTY_OBJECT : bytes;
    return given.length <= LIGHT_BYTES ? parsed(given) : await parseLong(given);
  } catch (thrown) {
    const error = toGatewayError(thrown);
    // What fails for its body on the control plane is in the audit log: the interceptors must hear of it.
    if (plane !== Plane.CONTROL || error.reason === 'client_closed') throw error;
    return { ...unread, error };
  } finally {
    // From here on the deadline interceptor keeps the time.
    call.stopTimer();
  }
}

/** A header that cannot be read bounds nothing here; the deadline interceptor refuses it. */
function timeoutOf(call: Call): number | undefined {
  try {
    return readTimeout(call.headers);
  } catch {
    return undefined;
  }
}

export interface Parsed {
  readonly bytes: Uint8Array;
  readonly json: unknown;
  /** Whether the bytes may be sent on as they are. */
  readonly isFaithful: () => boolean;
  readonly error: GatewayError | undefined;
}

const EMPTY_OBJECT = Buffer.from('{}');
/** Bodies above this are decoded and read in turns of the event loop of their own. */
const LONG_BYTES = 1_048_576;

/** The body's JSON, or the error to tell once the caller is known. */
export function parsed(bytes: Uint8Array): Parsed {
  if (!isUtf8(bytes)) return malformed(bytes, 'the body must be UTF-8');
  const text = (bytes as Buffer).toString('utf8');
  try {
    return { bytes, json: JSON.parse(text) as unknown, isFaithful: () => isFaithful(text), error: undefined };
  } catch {
    return malformed(bytes, 'the body must be valid JSON');
  }
}

/** The same of a body that may hold the event loop. */
async function parseLong(bytes: Uint8Array): Promise<Parsed> {
  if (await isTooHeavy(bytes)) return { ...malformed(bytes, ''), error: tooHeavy() };
  if (bytes.length <= LONG_BYTES) {
    const body = parsed(bytes);
    // 43,000 empty objects take 15 ms to be read, and as long to be decoded.
    await nextTurn();
    return body;
  }
  if (!isUtf8(bytes)) return malformed(bytes, 'the body must be UTF-8');
  const text = (bytes as Buffer).toString('utf8');
  await nextTurn();
  try {
    const json: unknown = JSON.parse(text);
    await nextTurn();
    const faithful = isFaithful(text);
    await nextTurn();
    return { bytes, json, isFaithful: () => faithful, error: undefined };
  } catch {
    return malformed(bytes, 'the body must be valid JSON');
  }
}

function tooHeavy(): GatewayError {
  return fail(
    'body_too_large',
    'the body has too many members and items: it may have about 57,000 members (16,000 with names of their own), 400,000 numbers or 2,000,000 escaped signs; send it in parts',
  );
}

function malformed(bytes: Uint8Array, message: string): Parsed {
  return { bytes, json: undefined, isFaithful: () => false, error: fail('malformed_body', message) };
}

const unread: Parsed = malformed(Buffer.alloc(0), 'the body was not read');

const STREAM_QUERY = /(?:^|&)stream=true(?:&|$)/;

export function wantsStream(body: Parsed | undefined): boolean {
  const { json } = body ?? { json: undefined };
  return typeof json === 'object' && json !== null && (json as { stream?: unknown }).stream === true;
}

export function callOf(
  { names }: RestDeps,
  method: DescMethod,
  { headers, socket, url }: Pick<IncomingMessage, 'headers' | 'socket' | 'url'>,
  verb: string,
  path: string,
): Call {
  return new Call(method, {
    protocol: 'rest',
    headers: new GatewayHeaders(names, withQueryKey(headers, url)),
    httpMethod: verb,
    path,
    remote: socket.remoteAddress ?? '',
    connection: socket,
  });
}

const QUERY_KEY = /^\/(?:v[12]\/)?(?:v1beta\d*\/|models\/)[^?]*\?(?:[^#]*&)?key=/;

/** Google's clients may say their key in the query: it counts as the header that others of them send. */
function withQueryKey(headers: IncomingMessage['headers'], url = ''): IncomingMessage['headers'] {
  if (!QUERY_KEY.test(url) || headers['x-goog-api-key'] !== undefined) return headers;
  const key = new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('key');
  return key ? { ...headers, 'x-goog-api-key': key } : headers;
}

function refuse(
  res: ServerResponse,
  error: GatewayError,
  plane: Plane,
  call: Call,
  form = annotationsOf(call.method).form,
): void {
  if (error.reason === 'client_closed') res.destroy();
  else
    respondError(
      res,
      error,
      { plane, aliased: call.headers.aliased, form, requestId: call.id },
      answerHeaders(call),
    );
}

/** The form of a route's errors, where one was found. */
/** Paths below Messages, as its batches, and callers that name Anthropic's version read errors in its form. */
function passedFormOf(req: IncomingMessage, path: string): Form {
  const isTheirs = req.headers['anthropic-version'] !== undefined || MESSAGES_PATH.test(path);
  return isTheirs ? Form.MESSAGES : Form.UNSPECIFIED;
}

const MESSAGES_PATH = /^(?:\/anthropic)?(?:\/v1)?\/messages(?:[/?]|$)/;

function formOf(match: RouteMatch | undefined): { form?: Form } {
  return match === undefined ? {} : { form: annotationsOf(match.route.method).form };
}

/** Anthropic's clients tell their users the id of a request by the header `request-id`. */
export function namedIn(form: Form, { id }: Call, headers: [string, string][]): [string, string][] {
  return form === Form.MESSAGES ? [...headers, ['request-id', id]] : headers;
}

/** Longest path that an error repeats, in characters. */
const MAX_TOLD = 200;

function unknownPath(path: string, nearest: string): GatewayError {
  const told = path.length > MAX_TOLD ? `${path.slice(0, MAX_TOLD)}…` : path;
  return fail(
    'route_unknown',
    `${told} is no path of this gateway; the nearest is ${nearest}. It is not passed through: a provider's own path of this name is reached as /proxy${told}`,
  );
}

function overloaded(): GatewayError {
  return fail('overloaded', 'the gateway is at its limit of calls in flight', { retryAfterMs: 1000 });
}

function notUpgraded(path: string): GatewayError {
  return fail(
    'validation_failed',
    `GET ${path} opens a WebSocket: send it with the headers Connection: Upgrade and Upgrade: websocket over HTTP/1.1`,
    { param: 'upgrade' },
  );
}
