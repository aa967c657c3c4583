// An operation of REST that takes a form, or, where it may, the form's texts as JSON.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { create, type DescMessage, type Message, type MessageInitShape } from '@bufbuild/protobuf';
import type { BinaryAnswer } from '../../gen/gateway/inference/v2/common_pb.ts';
import { fail, toGatewayError } from '../lib/errors.ts';
import { codec } from '../rest/codec.ts';
import { answersBytes, type FormShape } from '../rest/form-shape.ts';
import { bindPath } from '../rest/query.ts';
import type { RouteMatch } from '../rest/routes.ts';
import { answerHeaders } from '../rpc/answer-headers.ts';
import { formRequest } from './form-request.ts';
import { isKnown } from './known-caller.ts';
import { Leave } from './leave.ts';
import type { BodyReader } from './read-body.ts';
import { isForm } from './read-form.ts';
import { type Parsed, readBody } from './request-body.ts';
import { respondJson } from './respond.ts';
import { callOf } from './rest-call.ts';
import type { RestDeps } from './rest-deps.ts';
import { refuse } from './rest-refusals.ts';
import { writeBytes } from './write-bytes.ts';

/** An operation that takes a form: its messages are read while they come. */
export async function formOperation(
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
