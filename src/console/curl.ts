// A kept request as a command for a shell. Credentials are the reader's own, from the environment.
import type { ReadLog } from './log-worker.ts';

/** Headers that every call has, or that say what the gateway reads elsewhere. */
const LEFT_OUT = new Set(['x-gateway-api-key', 'x-gateway-request-id', 'x-gateway-trace-id']);
/** Linux takes no argument over 128 KiB: a longer body is read from the input. */
const LONGEST_ARGUMENT = 100_000;

export function curlOf({ request }: ReadLog, origin: string): string {
  const { method = 'POST', url = '', body = '', headers = {} } = request ?? {};
  const address = addressOf(url, origin);
  // A call that was made elsewhere and told to the log may name any address: the gateway's key does not go there.
  const isOwn = address.startsWith(`${origin}/`);
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return [
    `curl -X ${/^[A-Z]+$/.test(method) ? method : 'POST'} ${quoted(address)}`,
    ...(isOwn ? ['-H "x-gateway-api-key: $GATEWAY_API_KEY"'] : []),
    ...given.flatMap(([name, value]) => (isOwn || name === 'authorization' ? headerOf(name, value) : [])),
    ...bodyOf(body),
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
  // Names of headers may hold what a shell runs, e.g. `…`.
  if (!/^x-gateway-[a-z\d-]+$/.test(name) || LEFT_OUT.has(name)) return [];
  const variable = name.replace('x-gateway-', '').replaceAll('-', '_').toUpperCase();
  // What was masked is not known here.
  return [value.includes('***') ? `-H "${name}: $${variable}"` : `-H ${quoted(`${name}: ${value}`)}`];
}

function bodyOf(body: string): readonly string[] {
  if (body === '') return [];
  const type = "-H 'content-type: application/json'";
  if (new TextEncoder().encode(body).length <= LONGEST_ARGUMENT) return [type, `--data-raw ${quoted(body)}`];
  let end = 'END_OF_BODY';
  while (body.includes(end)) end += '_';
  return [type, `--data-binary @- <<'${end}'\n${body}\n${end}\n`];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
