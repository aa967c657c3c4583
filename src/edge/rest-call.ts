// A request over REST as a call, and the headers of its answer.
import type { IncomingMessage } from 'node:http';
import type { DescMethod } from '@bufbuild/protobuf';
import { Form } from '../../gen/gateway/options/v2/options_pb.ts';
import { Call } from '../call/call.ts';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';

export function callOf(
  { names }: { readonly names: HeaderNames },
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

/** Anthropic's clients tell their users the id of a request by the header `request-id`. */
export function namedIn(form: Form, { id }: Call, headers: [string, string][]): [string, string][] {
  return form === Form.MESSAGES ? [...headers, ['request-id', id]] : headers;
}
