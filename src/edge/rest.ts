// REST: a route of the contract, or pass-through. JSON in, message through the
// in-process transport, JSON or server-sent events out.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DescMethod, Message } from '@bufbuild/protobuf';
import type { BinaryAnswer } from '../../gen/gateway/inference/v2/common_pb.ts';
import { type ForwardResponse, ProxyService } from '../../gen/gateway/inference/v2/proxy_pb.ts';
import { Form, Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { fail, toGatewayError } from '../lib/errors.ts';
import { GatewayHeaders } from '../lib/gateway-headers.ts';
import { jsonBody, jsonInSlices } from '../lib/json-in-slices.ts';
import { attachRawJson, rawJsonOf } from '../lib/raw-json.ts';
import { bodyLimitOf } from '../rest/body-limit.ts';
import { codec } from '../rest/codec.ts';
import { answersBytes, formOf as formShapeOf } from '../rest/form-shape.ts';
import { createLookalikes } from '../rest/lookalikes.ts';
import { bindPath, readQuery } from '../rest/query.ts';
import { annotationsOf, type Route, type RouteMatch } from '../rest/routes.ts';
import { answerHeaders } from '../rpc/answer-headers.ts';
import { controlInput } from './control-input.ts';
import { ResponseSink } from './event-sink.ts';
import { formOperation } from './form-operation.ts';
import { isKnown } from './known-caller.ts';
import { Leave } from './leave.ts';
import { forwardRequest, writeForwarded } from './pass-through.ts';
import { BodyReader } from './read-body.ts';
import { readBody, wantsStream } from './request-body.ts';
import { type Pairs, respondError, respondJson } from './respond.ts';
import { callOf, namedIn } from './rest-call.ts';
import type { RestDeps } from './rest-deps.ts';
import { formOf, notUpgraded, overloaded, passedFormOf, refuse, unknownPath } from './rest-refusals.ts';
import { strayHeaders } from './stray-headers.ts';
import { writeBytes } from './write-bytes.ts';
import { writeEvents } from './write-events.ts';
import { writeLines } from './write-lines.ts';
import { writeNative } from './write-native.ts';

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
    const json = rawJsonOf(answer) ?? writtenJson(codec.encode(method.output, answer));
    const { form } = annotationsOf(method);
    const written = json instanceof Promise ? await json : json;
    respondJson(res, call.record.status ?? 200, written, namedIn(form, call, answerHeaders(call)));
  } catch (thrown) {
    refuse(res, toGatewayError(thrown), route.plane, call);
  }
}

/** What is long is written in slices of the event loop: lists, and answers that guardrails looked at. */
function writtenJson(value: unknown): string | Promise<string | Uint8Array> {
  const json = jsonBody(value);
  return typeof json === 'string' ? json : jsonInSlices(json.value);
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

const STREAM_QUERY = /(?:^|&)stream=true(?:&|$)/;
