// Calls of a test to one gateway about limits: the control plane, chats, keys with limits, the log.
import type { FakeProvider } from './fake-provider.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from './gateway.ts';

export type Json = Record<string, unknown>;

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Json;
}

export interface LimitsClient {
  /** A call of the control plane. @throws Error when it is not a 200. */
  admin(verb: string, path: string, body?: Json): Promise<Json>;
  chat(headers?: Record<string, string>, body?: Json, key?: string): Promise<Answered>;
  /** A key with limits. */
  key(limits: Json): Promise<{ readonly id: string; readonly key: string }>;
  /** The key's record, when it is as it should be or after three seconds. */
  keyUntil(id: string, when: (record: Json) => boolean): Promise<Json>;
  /** The entries of a trace, once there are so many or after three seconds. */
  logs(traceId: string, count?: number): Promise<readonly Json[]>;
}

export function limitsClient(gateway: { readonly origin: string }, provider: FakeProvider): LimitsClient {
  const admin: LimitsClient['admin'] = async (verb, path, body) => {
    const answer = await fetch(`${gateway.origin}/v1${path}`, {
      method: verb,
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const json = (await answer.json()) as Json;
    if (answer.status !== 200) throw new Error(`${verb} ${path}: ${JSON.stringify(json)}`);
    return json;
  };
  return {
    admin,
    async chat(headers = {}, body = {}, key = WORKSPACE_KEY) {
      const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...chatHeaders(provider, key), ...headers },
        body: JSON.stringify({
          model: 'gpt-4o',
          messages: [{ role: 'user', content: 'hi' }],
          max_tokens: 10,
          ...body,
        }),
      });
      const text = await answer.text();
      const json = text.startsWith('{') ? (JSON.parse(text) as Json) : { text };
      return { status: answer.status, headers: answer.headers, json };
    },
    async key(limits) {
      const { id, key } = await admin('POST', '/api-keys/workspace/service', {
        name: 'limited',
        workspace_id: 'default',
        scopes: ['completions.write'],
        ...limits,
      });
      return { id: String(id), key: String(key) };
    },
    keyUntil: (id, when) => until(() => admin('GET', `/api-keys/${id}`), when),
    async logs(traceId, count = 1) {
      const page = await until(
        () => admin('GET', `/logs?trace_id=${traceId}`),
        ({ total }) => Number(total) >= count,
      );
      return page.data as Json[];
    },
  };
}

/** Headers of a call to the fake provider. */
export function chatHeaders(provider: { readonly origin: string }, key: string): Record<string, string> {
  return {
    'x-gateway-api-key': key,
    'x-gateway-provider': 'openai',
    'x-gateway-custom-host': provider.origin,
    authorization: 'Bearer sk-provider',
    'content-type': 'application/json',
  };
}

/** Asks until the answer is as it should be, a minute at the most; then the last answer. */
export async function until<T>(ask: () => Promise<T>, when: (answer: T) => boolean, ms = 60_000): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const answer = await ask();
    if (when(answer) || performance.now() > end) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
