// A kept request as a command for a shell. Credentials are the reader's own, from the environment.
import type { ReadLog } from './log-worker.ts';

/** Headers that every call has, or that say what the gateway reads elsewhere. */
const LEFT_OUT = new Set(['x-gateway-api-key', 'x-gateway-request-id', 'x-gateway-trace-id']);

export function curlOf({ request }: ReadLog, origin: string): string {
  const { method = 'POST', url = '', body = '', headers = {} } = request ?? {};
  return [
    `curl -X ${method || 'POST'} ${quoted(addressOf(url, origin))}`,
    '-H "x-gateway-api-key: $GATEWAY_API_KEY"',
    ...Object.entries(headers).flatMap(([name, value]) => headerOf(name.toLowerCase(), value)),
    ...(body === '' ? [] : ["-H 'content-type: application/json'", `-d ${quoted(body)}`]),
  ].join(' \\\n  ');
}

/** Paths are kept without the version in front. Chats by RPC are the same call by REST. */
function addressOf(url: string, origin: string): string {
  if (/^https?:/.test(url)) return url;
  if (/^\/gateway\.inference\.v2\.ChatService\//.test(url)) return `${origin}/v1/chat/completions`;
  return url.startsWith('/gateway.') ? origin + url : `${origin}/v1${url.replace(/^\/v1(?=\/)/, '')}`;
}

function headerOf(name: string, value: string): readonly string[] {
  if (name === 'authorization') return ['-H "authorization: Bearer $PROVIDER_API_KEY"'];
  if (!name.startsWith('x-gateway-') || LEFT_OUT.has(name)) return [];
  const variable = name.replace('x-gateway-', '').replaceAll('-', '_').toUpperCase();
  // What was masked is not known here.
  return [value.includes('***') ? `-H "${name}: $${variable}"` : `-H ${quoted(`${name}: ${value}`)}`];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
