// Calls over REST, for tests whose steps need each other's answers.
import { ADMIN_KEY, type TestGateway } from './gateway.ts';

export type Json = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly json: Json;
  readonly headers: Headers;
}

/** What a call may be made with. */
export interface Given {
  readonly body?: Json;
  /** The admin key when absent. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One call; `path` without the version. */
export async function send(
  { origin }: Pick<TestGateway, 'origin'>,
  verb: string,
  path: string,
  { body, key = ADMIN_KEY, headers = {} }: Given = {},
): Promise<Answer> {
  const answer = await fetch(`${origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, json: (await answer.json()) as Json, headers: answer.headers };
}

/** As `send`. @throws Error for any status but 200. */
export async function ok(
  gateway: Pick<TestGateway, 'origin'>,
  verb: string,
  path: string,
  given: Given = {},
): Promise<Json> {
  const { status, json } = await send(gateway, verb, path, given);
  if (status !== 200) throw new Error(`${verb} ${path}: ${status} ${JSON.stringify(json)}`);
  return json;
}

/** What an invitation's link carries. */
export function invitation(link: unknown): { readonly path: string; readonly token: string } {
  const given = new URLSearchParams(new URL(String(link)).hash.slice(1));
  return { path: `/admin/users/invites/${given.get('id')}`, token: given.get('token') ?? '' };
}
