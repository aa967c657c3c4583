// Calls of a hostile caller with a key, to a gateway under attack.
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import type { GatewayProcess } from './gateway-process.ts';

type Json = Readonly<Record<string, unknown>>;

/** What came back. */
export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** One call; its body as it is, or as JSON. The workspace's key, unless the headers have another. */
export async function send(
  { origin }: GatewayProcess,
  path: string,
  body: string | Uint8Array | Json,
  headers: Readonly<Record<string, string>> = {},
  method = 'POST',
): Promise<Answered> {
  const answer = await fetch(`${origin}/v1${path}`, {
    method,
    headers: { 'x-gateway-api-key': WORKSPACE_KEY, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

/** Headers of an administrator's call. */
export const AS_ADMIN = { 'x-gateway-api-key': ADMIN_KEY };

/** A call's header with a config for one provider. */
export function byConfig(host: string, config: Json): Record<string, string> {
  return {
    'x-gateway-config': JSON.stringify({ provider: 'openai', api_key: 'k', custom_host: host, ...config }),
  };
}

/** A chat with one message. */
export function saying(content: unknown): Json {
  return { model: 'gpt-ok', messages: [{ role: 'user', content }] };
}

/** So many of one thing. */
export function many<T>(count: number, one: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => one(index));
}
