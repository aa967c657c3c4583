// Pass-through over HTTP: method, raw URL, raw header pairs and body bytes to
// ProxyService.Forward, and its answer back onto the socket.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { create } from '@bufbuild/protobuf';
import {
  type ForwardRequest,
  ForwardRequestSchema,
  type ForwardResponse,
  HeaderSchema,
  type ResponseHead,
} from '../../gen/gateway/inference/v2/proxy_pb.ts';
import type { Call } from '../call/call.ts';
import { toGatewayError } from '../lib/errors.ts';
import { IncomingBody } from '../lib/incoming/incoming-body.ts';
import type { Pace } from '../lib/incoming/pace.ts';
import type { ReadingBudget } from '../lib/incoming/reading-budget.ts';
import { hasBody } from './has-body.ts';
import { drained, type Pairs } from './respond.ts';

/** The request as Forward's messages: the head, then the body as it comes. */
export async function* forwardRequest(
  { pace, budget }: { readonly pace: Pace; readonly budget: ReadingBudget },
  call: Call,
  req: IncomingMessage,
  path: string,
): AsyncGenerator<ForwardRequest> {
  const headers = [];
  for (let i = 0; i + 1 < req.rawHeaders.length; i += 2) {
    const name = req.rawHeaders[i]!;
    if (!name.startsWith(':')) headers.push(create(HeaderSchema, { name, value: req.rawHeaders[i + 1]! }));
  }
  yield create(ForwardRequestSchema, {
    kind: { case: 'head', value: { method: req.method ?? '', path, headers } },
  });
  if (!hasBody(req)) return;
  // The provider may answer before it has read all: leaving the body must not close the socket.
  const body = new IncomingBody(req, {
    pace,
    reading: () => budget.open(call.principal?.keyId),
    whole: false,
  });
  for await (const value of body)
    yield create(ForwardRequestSchema, { kind: { case: 'chunk', value: value as Buffer<ArrayBuffer> } });
}

/** Writes the provider's head and bytes as they are, and adds our own headers. */
export async function writeForwarded(
  res: ServerResponse,
  messages: AsyncIterable<ForwardResponse>,
  headers: () => Pairs,
): Promise<void> {
  try {
    for await (const { kind } of messages) {
      if (kind.case === 'head') writeHead(res, kind.value, headers());
      else if (kind.case === 'chunk' && !res.write(kind.value)) await drained(res);
    }
    res.end();
  } catch (error) {
    if (!res.headersSent) throw error;
    // A stream that was told of its error is over; else only a broken connection tells that bytes are missing.
    if (toGatewayError(error).details.told) res.end();
    else res.destroy();
  }
}

function writeHead(res: ServerResponse, head: ResponseHead, own: Pairs): void {
  const byName = new Map<string, [string, string[]]>();
  const add = (name: string, value: string): void => {
    const entry = byName.get(name.toLowerCase());
    if (entry) entry[1].push(value);
    else byName.set(name.toLowerCase(), [name, [value]]);
  };
  for (const { name, value } of head.headers) if (!isOwnCookie(name, value)) add(name, value);
  for (const [name, value] of own) byName.set(name, [name, [value]]);
  // To the browser of a person the answer is of the console's own origin: it runs no script there.
  if (res.req.headers.cookie?.includes('sluice_session')) {
    byName.set('content-security-policy', ['content-security-policy', ['sandbox']]);
    byName.set('x-content-type-options', ['x-content-type-options', ['nosniff']]);
    byName.delete('clear-site-data');
  }
  if (byName.has('date')) res.sendDate = false;
  for (const [name, values] of byName.values())
    res.setHeader(name, values.length === 1 ? values[0]! : values);
  res.writeHead(head.status);
  res.flushHeaders();
}

/** Whether a provider sets a cookie that the gateway reads: a browser would have the provider's session, or none. */
function isOwnCookie(name: string, value: string): boolean {
  return name.toLowerCase() === 'set-cookie' && /^[\s=]*(?:__(?:host|secure)-)?sluice_/i.test(value);
}
