// One case, three protocols: REST, Connect (JSON) and gRPC. A case is data; what it
// expects is asserted over each protocol that can say it, both statuses included.
import http from 'node:http';
import { inspect } from 'node:util';
import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, Message } from '@bufbuild/protobuf';
import { getOption } from '@bufbuild/protobuf';
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import type { ExecutionContext, TestFn } from 'ava';
import { type ErrorDetail, ErrorDetailSchema } from '../../gen/gateway/common/v2/error_pb.ts';
import { Form, Plane, plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { http as httpOption } from '../../gen/google/api/annotations_pb.ts';
import type { Reason } from '../../src/lib/errors.ts';
import { codec } from '../../src/rest/codec.ts';
import { annotationsOf } from '../../src/rest/routes.ts';
import { unframed } from '../providers/support/aws-frames.ts';
import { type FakeProvider, type Seen, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };
export type Protocol = 'rest' | 'connect' | 'grpc';
export const PROTOCOLS: readonly Protocol[] = ['rest', 'connect', 'grpc'];

/** The credential that callers of these tests hold for the provider. */
export const PROVIDER_KEY = 'sk-provider-secret-0123456789';

/** What a refusal must look like. */
export interface Refusal {
  readonly status: number;
  readonly code: Code;
  readonly reason: Reason;
  /** The field or header named; '' for none. */
  readonly param?: string;
  /** Text that the message must contain. */
  readonly message?: string | RegExp;
  /** `error.code` of the REST body, where it is not the reason. */
  readonly errorCode?: string;
  /** The rule of the first violation. */
  readonly rule?: string;
  readonly provider?: string;
  readonly retryAfterMs?: number;
  /** Whether the provider may have been called; default: it must not have been. */
  readonly upstream?: boolean;
}

/** An answer as every protocol can show it. */
export interface Answered {
  readonly protocol: Protocol;
  /** The whole answer; undefined for streams. */
  readonly json: JsonObject;
  /** The events of a stream. */
  readonly events: readonly JsonObject[];
  /** REST: whether the stream ended with [DONE]. gRPC and Connect: whether it ended with status 0. */
  readonly complete: boolean;
  readonly headers: Headers;
  /** What the provider was sent by this very call. */
  readonly sent: readonly Seen[];
}

export interface Case {
  readonly name: string;
  readonly method: DescMethod;
  /** The REST body, or the query's members where the operation has no body. */
  readonly body?: JsonObject;
  /** REST only: replaces the path that the contract derives, e.g. with a raw query. */
  readonly path?: string;
  /** Replaces headers of the ordinary call; undefined takes one away. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** A config in the place of the provider's headers; `host` is the provider's address for this very call. */
  readonly config?: (host: string) => JsonObject;
  /** Protocols that can express the case; all when absent. A wrong JSON type has no form in Protobuf. */
  readonly over?: readonly Protocol[];
  readonly refused?: Refusal;
  readonly check?: (t: ExecutionContext, answer: Answered) => void;
}

/** What is called, and with what. */
export type Called = Pick<Case, 'method' | 'body' | 'headers' | 'path' | 'config'>;

/** A gateway, a provider and the three ways in. */
export interface Bench {
  readonly gateway: TestGateway;
  readonly provider: FakeProvider;
  readonly transports: Readonly<Record<'connect' | 'grpc', Transport>>;
  /** Headers of an ordinary call, its provider address unique to it. */
  headers(prefix: string): Record<string, string>;
  /** A path prefix by which the provider's requests of one call are told. */
  mark(): string;
  sentTo(prefix: string): readonly Seen[];
  close(): Promise<void>;
}

export async function startBench(env: Readonly<Record<string, string>> = {}): Promise<Bench> {
  const [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1', ...env }),
    startFakeProvider(),
  ]);
  let count = 0;
  const grpc = createGrpcTransport({ baseUrl: gateway.origin });
  const connect = createConnectTransport({ baseUrl: gateway.origin, httpVersion: '1.1' });
  return {
    gateway,
    provider,
    transports: { grpc, connect },
    mark: () => `/case-${++count}`,
    headers: (prefix) => ({
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': provider.origin + prefix,
      authorization: `Bearer ${PROVIDER_KEY}`,
    }),
    sentTo: (prefix) => provider.seen.filter(({ url }) => url.startsWith(`${prefix}/`) || url === prefix),
    async close() {
      await provider.close();
      await gateway.close();
    },
  };
}

/** Registers a file's cases: each over each of its protocols. */
export function runCases(test: TestFn<unknown>, bench: () => Bench, cases: readonly Case[]): void {
  const names = new Set<string>();
  for (const one of cases) {
    if (names.has(one.name)) throw new Error(`two cases are named ${one.name}`);
    names.add(one.name);
    for (const protocol of one.over ?? PROTOCOLS) {
      test(`${one.name} [${protocol}]`, (t) => runCase(t, bench(), one, protocol));
    }
  }
}

/** One call over one protocol, for tests whose steps need each other's answers. */
export function exchange(
  bench: Bench,
  one: Called,
  protocol: Protocol,
  prefix: string = bench.mark(),
): Promise<Outcome> {
  const headers = without({
    ...bench.headers(prefix),
    ...(one.config ? byConfig(one.config(bench.provider.origin + prefix)) : {}),
    ...one.headers,
  });
  return protocol === 'rest'
    ? callRest(bench, one, headers)
    : callRpc(bench.transports[protocol], one, headers);
}

async function runCase(t: ExecutionContext, bench: Bench, one: Case, protocol: Protocol): Promise<void> {
  const prefix = bench.mark();
  const outcome = await exchange(bench, one, protocol, prefix);
  const sent = bench.sentTo(prefix);
  ids(t, outcome.headers);
  if (one.refused !== undefined) {
    refusal(t, one, outcome, one.refused);
    if (one.refused.upstream !== true) t.is(sent.length, 0, 'a refused call must not reach the provider');
    return;
  }
  if (outcome.error !== undefined) {
    t.fail(`refused: ${inspect(outcome.error, { depth: 4 })}`);
    return;
  }
  t.is(outcome.status, protocol === 'rest' ? 200 : 0);
  one.check?.(t, { protocol, sent, ...outcome });
}

/** Headers of a call whose config says everything. */
function byConfig(config: JsonObject): Record<string, string | undefined> {
  return {
    'x-gateway-provider': undefined,
    'x-gateway-custom-host': undefined,
    authorization: undefined,
    'x-gateway-config': JSON.stringify(config),
  };
}

/** What came back, before it is judged. */
export interface Outcome {
  /** HTTP status over REST, gRPC code else. */
  readonly status: number;
  readonly headers: Headers;
  readonly json: JsonObject;
  readonly events: readonly JsonObject[];
  readonly complete: boolean;
  readonly error: RestError | RpcError | undefined;
}

export interface RestError {
  readonly kind: 'rest';
  readonly body: JsonObject;
}

export interface RpcError {
  readonly kind: 'rpc';
  readonly code: Code;
  readonly message: string;
  readonly details: readonly ErrorDetail[];
}

async function callRest(bench: Bench, one: Called, headers: Record<string, string>): Promise<Outcome> {
  const { verb, path, hasBody } = restFacts(one);
  const response = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: verb,
    headers: hasBody ? { 'content-type': 'application/json', ...headers } : headers,
    ...(hasBody ? { body: JSON.stringify(one.body ?? {}) } : {}),
    redirect: 'manual',
  });
  const type = response.headers.get('content-type') ?? '';
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString('utf8');
  const base = { status: response.status, headers: response.headers };
  const none = { json: {}, events: [], complete: false };
  if (response.status !== 200) {
    return { ...base, ...none, error: { kind: 'rest', body: JSON.parse(text) as JsonObject } };
  }
  if (one.method.methodKind === 'server_streaming')
    return { ...base, ...none, events: nativeEvents(type, bytes), complete: true, error: undefined };
  if (!type.startsWith('text/event-stream')) {
    return { ...base, ...none, json: JSON.parse(text) as JsonObject, error: undefined };
  }
  const { events, done } = readEvents(text, annotationsOf(one.method).form !== Form.UNSPECIFIED);
  return { ...base, ...none, events, complete: done, error: undefined };
}

/** The pieces of a stream in Google's or AWS's form. */
function nativeEvents(type: string, bytes: Buffer): JsonObject[] {
  if (type.startsWith('application/json')) return JSON.parse(bytes.toString('utf8')) as JsonObject[];
  if (type.startsWith('text/event-stream'))
    return bytes
      .toString('utf8')
      .split('\r\n\r\n')
      .filter((event) => event !== '')
      .map((event) => JSON.parse(event.replace(/^data: /, '')) as JsonObject);
  return unframed(bytes).map(({ name, json }) =>
    name === 'chunk'
      ? (JSON.parse(Buffer.from(String(json.bytes), 'base64').toString('utf8')) as JsonObject)
      : { [name]: json },
  );
}

/**
 * The data events of a whole stream's text. @param named whether each has its `event:` line, and none is [DONE]
 * @throws Error for anything but data lines.
 */
export function readEvents(text: string, named = false): { events: JsonObject[]; done: boolean } {
  const events: JsonObject[] = [];
  let done = false;
  for (const block of text.split('\n\n')) {
    if (block === '') continue;
    if (done) throw new Error(`an event after [DONE]: ${block}`);
    const name = named ? /^event: ([a-z_.]+)\n/.exec(block) : undefined;
    const line = block.slice(name?.[0].length ?? 0);
    if (name === null || !line.startsWith('data: ')) throw new Error(`not a data event: ${block}`);
    const data = line.slice('data: '.length);
    if (name?.[1] === 'message_stop' || name?.[1] === 'response.completed') done = true;
    if (named) {
      events.push(JSON.parse(data) as JsonObject);
      continue;
    }
    if (data === '[DONE]') done = true;
    else events.push(JSON.parse(data) as JsonObject);
  }
  return { events, done };
}

async function callRpc(transport: Transport, one: Called, headers: Record<string, string>): Promise<Outcome> {
  const method = rpcMethod(one);
  const input = codec.decodeRequest(method.input, one.body ?? {});
  const none = { json: {}, events: [] as JsonObject[], complete: false, error: undefined };
  let head = new Headers();
  try {
    if (method.methodKind === 'unary') {
      const unary = method as DescMethodUnary;
      const answer = await transport.unary(unary, undefined, undefined, headers, input);
      const json = encodeAnswer(method, answer.message);
      return { ...none, status: 0, headers: answer.header, json, complete: true };
    }
    const streaming = method as DescMethodServerStreaming;
    const answer = await transport.stream(streaming, undefined, undefined, headers, once(input));
    head = answer.header;
    const events: JsonObject[] = [];
    try {
      for await (const message of answer.message) events.push(encodeAnswer(method, message));
    } catch (thrown) {
      if (events.length === 0) throw thrown;
      return { ...none, status: 0, headers: head, events };
    }
    return { ...none, status: 0, headers: head, events, complete: true };
  } catch (thrown) {
    if (!(thrown instanceof ConnectError)) throw thrown;
    const details = thrown.findDetails(ErrorDetailSchema);
    const merged = new Headers(head);
    thrown.metadata.forEach((value, name) => {
      merged.set(name, value);
    });
    const error: RpcError = { kind: 'rpc', code: thrown.code, message: thrown.rawMessage, details };
    return { ...none, status: thrown.code, headers: merged, error };
  }
}

async function* once(message: Message): AsyncGenerator<Message> {
  yield message;
}

function encodeAnswer(method: DescMethod, message: Message): JsonObject {
  return codec.encode(method.output, message) as JsonObject;
}

/** The RPC that says the same: `"stream": true` selects the streaming twin. */
function rpcMethod({ method, body }: Called): DescMethod {
  if (body?.stream !== true || method.methodKind !== 'unary') return method;
  const twin = method.parent.methods.find(({ name }) => name === method.name.replace(/^Create/, 'Stream'));
  if (twin === undefined) throw new Error(`${method.name} has no streaming twin`);
  return twin;
}

function restFacts({ method, body, path }: Called): { verb: string; path: string; hasBody: boolean } {
  const rule = getOption(method, httpOption);
  const { case: verb, value: template } = rule.pattern;
  if (verb === undefined || verb === 'custom') throw new Error(`${method.name} has no REST form`);
  const hasBody = rule.body === '*';
  if (path !== undefined) return { verb: verb.toUpperCase(), path, hasBody };
  const members = { ...body };
  const filled = template.replaceAll(/\{([a-z_]+)(=[^}]*)?\}/g, (_, name: string) => {
    const value = String(members[name]);
    delete members[name];
    return value.split('/').map(encodeURIComponent).join('/');
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) query.set(name, String(value));
  const search = hasBody || query.size === 0 ? '' : `?${query}`;
  return { verb: verb.toUpperCase(), path: filled + search, hasBody };
}

function ids(t: ExecutionContext, headers: Headers): void {
  t.regex(headers.get('x-gateway-request-id') ?? 'absent', UUID, 'x-gateway-request-id');
  t.regex(headers.get('x-gateway-trace-id') ?? 'absent', /^[\x21-\x7e]{1,255}$/, 'x-gateway-trace-id');
  t.not(headers.get('x-gateway-trace-id'), null);
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function refusal(t: ExecutionContext, one: Case, outcome: Outcome, expected: Refusal): void {
  const { error, headers } = outcome;
  if (error === undefined) {
    t.fail(`answered although it must be refused: ${JSON.stringify(outcome.json)}`);
    return;
  }
  const isControl = getOption(one.method.parent, plane) === Plane.CONTROL;
  if (error.kind === 'rest') {
    t.is(outcome.status, expected.status);
    const { form } = annotationsOf(one.method);
    if (form === Form.MESSAGES) {
      messagesErrorShape(t, error.body, expected);
      return;
    }
    if (form === Form.GEMINI || form === Form.BEDROCK) {
      nativeErrorShape(t, error.body, expected, form, headers);
      return;
    }
    restErrorShape(t, error.body, isControl);
    const inner = error.body.error as JsonObject;
    t.is(inner.code, expected.errorCode ?? expected.reason);
    if (expected.param !== undefined) t.is(inner.param, expected.param === '' ? null : expected.param);
    if (expected.message !== undefined) t.regex(String(inner.message), pattern(expected.message));
    if (expected.rule !== undefined) t.is((error.body.errors as JsonObject[])[0]?.rule, expected.rule);
    if (expected.provider !== undefined) t.is(error.body.provider, expected.provider);
  } else {
    t.is(Code[error.code], Code[expected.code]);
    t.is(error.details.length, 1, 'one typed detail');
    const detail = error.details[0]!;
    t.is(detail.reason, expected.reason);
    t.is(detail.httpStatus, expected.status);
    t.is(detail.requestId, headers.get('x-gateway-request-id') ?? 'absent');
    t.is(detail.errorCode !== '', isControl);
    if (expected.param !== undefined) t.is(detail.param, expected.param);
    if (expected.message !== undefined) t.regex(error.message, pattern(expected.message));
    if (expected.rule !== undefined) t.is(detail.violations[0]?.rule, expected.rule);
    if (expected.provider !== undefined) t.is(detail.provider, expected.provider);
    if (expected.errorCode !== undefined) t.is(detail.code, expected.errorCode);
    if (expected.retryAfterMs !== undefined) t.is(Number(detail.retryAfterMs), expected.retryAfterMs);
  }
  if (expected.retryAfterMs !== undefined) {
    t.is(headers.get('retry-after'), String(Math.ceil(expected.retryAfterMs / 1000)));
  }
}

/** Anthropic's own shape. */
function messagesErrorShape(t: ExecutionContext, body: JsonObject, expected: Refusal): void {
  const inner = body.error as JsonObject;
  t.is(body.type, 'error');
  t.deepEqual(Object.keys(inner).sort(), ['message', 'type']);
  t.regex(String(inner.type), /_(?:error|large)$/);
  t.regex(String(body.request_id), UUID);
  const [first] = (body.errors ?? []) as JsonObject[];
  if (expected.param) t.is(first?.field, expected.param);
  if (expected.message !== undefined) t.regex(String(inner.message), pattern(expected.message));
  if (expected.rule !== undefined) t.is(first?.rule, expected.rule);
  if (expected.provider !== undefined) t.is(body.provider, expected.provider);
}

/** Google's `error`, and AWS's exceptions. */
function nativeErrorShape(
  t: ExecutionContext,
  body: JsonObject,
  expected: Refusal,
  form: Form,
  headers: Headers,
): void {
  const inner = (form === Form.GEMINI ? body.error : body) as JsonObject;
  if (form === Form.GEMINI) {
    t.is(inner.code, expected.status);
    t.regex(String(inner.status), /^[A-Z_]+$/);
  } else {
    t.regex(String(inner.__type), /^[A-Z][A-Za-z]+Exception$/);
    t.is(headers.get('x-amzn-errortype'), String(inner.__type));
  }
  const [first] = (body.errors ?? []) as JsonObject[];
  if (expected.param) t.is(first?.field, expected.param);
  if (expected.message !== undefined) t.regex(String(inner.message), pattern(expected.message));
  if (expected.rule !== undefined) t.is(first?.rule, expected.rule);
  if (expected.provider !== undefined) t.is(body.provider, expected.provider);
}

/** The plane's own shape, and the OpenAI-style object in both. */
export function restErrorShape(t: ExecutionContext, body: JsonObject, isControl: boolean): void {
  const inner = body.error as JsonObject;
  t.deepEqual(Object.keys(inner).sort(), ['code', 'message', 'param', 'type']);
  t.is(typeof inner.type, 'string');
  t.is(typeof inner.message, 'string');
  t.not(inner.message, '');
  if (isControl) {
    t.is(body.success, false);
    const data = body.data as JsonObject;
    t.is(data.message, inner.message);
    t.regex(String(data.errorCode), /^AB\d\d$/);
    t.false('status' in body);
  } else {
    t.is(body.status, 'failure');
    t.is(body.message, inner.message);
    t.false('success' in body);
  }
}

function pattern(text: string | RegExp): RegExp {
  return typeof text === 'string' ? new RegExp(text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')) : text;
}

function without(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) out[name] = value;
  return out;
}

/** The JSON that the provider was sent in its one request of the call. */
export function sentJson(t: ExecutionContext, { sent }: Answered): JsonObject {
  t.is(sent.length, 1);
  return JSON.parse(sent[0]!.body.toString('utf8')) as JsonObject;
}

/** A raw HTTP/1 answer. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly text: string;
  readonly json: JsonObject;
}

/** One request over a socket of its own, with every header and byte under the test's control. */
export function raw(
  origin: string,
  options: {
    readonly method?: string;
    readonly path: string;
    readonly headers?: http.OutgoingHttpHeaders | readonly string[];
    readonly body?: string | Uint8Array | readonly Uint8Array[];
  },
): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  const { method = 'GET', path, headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const req = http.request(
      { hostname, port, method, path, headers: headers as http.OutgoingHttpHeaders, agent: false },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          const whole = Buffer.concat(chunks);
          const text = whole.toString('utf8');
          resolve({
            status: res.statusCode ?? 0,
            headers: res.headers,
            rawHeaders: res.rawHeaders,
            body: whole,
            text,
            get json() {
              return JSON.parse(text) as JsonObject;
            },
          });
        });
      },
    );
    req.on('error', reject);
    if (Array.isArray(body)) for (const piece of body as readonly Uint8Array[]) req.write(piece);
    else if (body !== undefined) {
      // A text would be written together with the headers, which node then encodes as UTF-8 too.
      const whole = Buffer.from(body as string | Uint8Array);
      if (req.getHeader('content-length') === undefined) req.setHeader('content-length', whole.length);
      req.end(whole);
      return;
    }
    req.end();
  });
}

/** A violation of a field's rule. */
export function invalid(param: string, message?: string | RegExp, rule?: string): Refusal {
  return {
    status: 400,
    code: Code.InvalidArgument,
    reason: 'validation_failed',
    param,
    ...(message === undefined ? {} : { message }),
    ...(rule === undefined ? {} : { rule }),
  };
}

/** Any refusal that is the caller's fault, status 400. */
export function bad(reason: Reason, param: string, message?: string | RegExp): Refusal {
  return {
    status: 400,
    code: Code.InvalidArgument,
    reason,
    param,
    ...(message === undefined ? {} : { message }),
  };
}
