// SCIM over real HTTP, for tests.
import { ADMIN_KEY, type TestGateway } from './gateway.ts';

export type ScimJson = Record<string, unknown>;

export interface ScimReply {
  readonly status: number;
  readonly json: ScimJson;
  readonly headers: Headers;
}

/** Calls with one token. */
export class ScimClient {
  readonly #origin: string;
  readonly #token: string;

  constructor({ origin }: Pick<TestGateway, 'origin'>, token: string) {
    this.#origin = origin;
    this.#token = token;
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ScimReply> {
    const answer = await fetch(`${this.#origin}/scim/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      json: text === '' ? {} : (JSON.parse(text) as ScimJson),
      headers: answer.headers,
    };
  }

  /** @throws Error for any other status */
  async ok(method: string, path: string, body?: unknown, status = 200): Promise<ScimJson> {
    const reply = await this.send(method, path, body);
    if (reply.status !== status)
      throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.json)}`);
    return reply.json;
  }

  /** PATCH with these operations. */
  patch(path: string, ...Operations: readonly ScimJson[]): Promise<ScimReply> {
    return this.send('PATCH', path, {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
      Operations,
    });
  }
}

/** A new token of the organisation, and its id. */
export async function newScimToken(
  { origin }: Pick<TestGateway, 'origin'>,
  name = 'idp',
): Promise<{ readonly id: string; readonly token: string }> {
  const answer = await fetch(`${origin}/v1/scim/tokens`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as { id: string; token: string };
}
