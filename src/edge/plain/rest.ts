// Plain requests of the REST surface: operations of the data plane with a short body in JSON, answered whole or in events,
// of callers whose key is known. That is what most calls are, and what they need of node:http is little.
import type { Message } from '@bufbuild/protobuf';
import { Form, Plane } from '../../../gen/gateway/options/v2/options_pb.ts';
import type { Call } from '../../call/call.ts';
import { toGatewayError } from '../../lib/errors.ts';
import { attachRawJson, rawJsonOf } from '../../lib/raw-json.ts';
import { codec } from '../../rest/codec.ts';
import { annotationsOf, type Route } from '../../rest/routes.ts';
import { answerHeaders } from '../../rpc/answer-headers.ts';
import { isJson } from '../read-body.ts';
import { type Parsed, parsed, wantsStream } from '../request-body.ts';
import { errorAnswer, type JsonAnswer } from '../respond.ts';
import { callOf, namedIn } from '../rest-call.ts';
import type { RestDeps } from '../rest-deps.ts';
import { writeEvents } from '../write-events.ts';
import type { Plain, PlainRequest, StreamedAnswer } from './connection.ts';

const BASES = ['/v1', '/v2'];

/** Answers plain requests; leaves all others to node:http. */
export function createPlainRest(deps: RestDeps): Plain {
  const operations = new Map<string, { readonly route: Route; readonly path: string }>();
  for (const route of deps.routes.routes.filter(isPlain))
    for (const base of BASES)
      operations.set(base + route.template.text, { route, path: route.template.text });
  /** The call of a request that is taken here. */
  const open = (request: PlainRequest): { readonly call: Call; readonly route: Route } | undefined => {
    const { url, headers } = request;
    const operation = operations.get(url);
    if (operation === undefined || Number(headers['content-length']) > deps.bodyLimit) return undefined;
    if (!isJson(headers['content-type']) || deps.full(false)) return undefined;
    const { route, path } = operation;
    const call = callOf(deps, route.method, request, 'POST', path);
    return deps.identify(call) === true ? { call, route } : undefined;
  };
  return {
    awaits: (request) => open(request) !== undefined,
    handle(request) {
      const opened = open(request);
      if (opened === undefined) return undefined;
      const { call, route } = opened;
      const body = parsed(request.body);
      call.bodyBytes = request.body.length;
      const left: PlainRequest['left'] = (error) => call.abort(error);
      request.left = left;
      const streams = route.streamMethod !== undefined && wantsStream(body);
      if (streams && route.streamMethod !== undefined) call.method = route.streamMethod;
      return answer(deps, call, body, streams);
    },
  };
}

/** Whether an operation takes one message in JSON and answers with one, at a path without fields. */
function isPlain({ verb, template, method, hasBody, plane }: Route): boolean {
  const isOne = verb === 'POST' && template.literal && hasBody && plane === Plane.DATA;
  if (!isOne || method.methodKind !== 'unary') return false;
  // Read last: of the few that come so far.
  const { access, form } = annotationsOf(method);
  return !access.open && form !== Form.BEDROCK;
}

async function answer(
  deps: RestDeps,
  call: Call,
  body: Parsed,
  streams: boolean,
): Promise<JsonAnswer | StreamedAnswer | undefined> {
  const { method } = call;
  const input = (): Message => {
    if (body.error) throw body.error;
    const message = codec.decodeRequest(method.input, body.json);
    return body.isFaithful() ? attachRawJson(message, body.bytes, body.json) : message;
  };
  const { form } = annotationsOf(method);
  try {
    if (streams) return streamed(call, await deps.transport.stream(call, input), form);
    const message = await deps.transport.unary(call, input);
    const json = rawJsonOf(message) ?? JSON.stringify(codec.encode(method.output, message));
    return { status: call.record.status ?? 200, json, headers: namedIn(form, call, answerHeaders(call)) };
  } catch (thrown) {
    const error = toGatewayError(thrown);
    if (error.reason === 'client_closed') return undefined;
    const shape = { plane: Plane.DATA, aliased: call.headers.aliased, form, requestId: call.id };
    return errorAnswer(error, shape, answerHeaders(call));
  }
}

function streamed(call: Call, messages: AsyncIterable<Message>, form: Form): StreamedAnswer {
  const shape = { plane: Plane.DATA, form, requestId: call.id };
  const headers = namedIn(form, call, answerHeaders(call));
  const { status = 200 } = call.record;
  return { write: (sink) => writeEvents(sink, status, call.method.output, messages, headers, shape) };
}
