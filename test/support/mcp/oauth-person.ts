// A person at a browser who signs in by a key and answers the question of the authorization server.
import { createHash, randomBytes } from 'node:crypto';
import type { TestGateway } from '../gateway.ts';

export interface Person {
  readonly cookie: string;
  /** Opens an address with the session; redirects are answers. */
  open(url: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Opens a request for authorisation and answers it. @returns where the browser is sent */
  answer(url: string, decision?: 'allow' | 'deny', more?: Readonly<Record<string, string>>): Promise<URL>;
  post(
    url: string,
    form: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Response>;
}

export async function signedIn({ origin }: Pick<TestGateway, 'origin'>, key: string): Promise<Person> {
  const answer = await fetch(`${origin}/v1/sessions`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: '{}',
  });
  if (answer.status !== 200) throw new Error(`no session: ${answer.status} ${await answer.text()}`);
  await answer.body?.cancel();
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const open: Person['open'] = (url, headers = {}) =>
    fetch(url, { redirect: 'manual', headers: { cookie, 'sec-fetch-site': 'cross-site', ...headers } });
  const post: Person['post'] = (url, form, headers = {}) =>
    fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        cookie,
        origin,
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      body: new URLSearchParams(form).toString(),
    });
  return {
    cookie,
    open,
    post,
    async answer(url, decision = 'allow', more = {}) {
      const page = await open(url);
      const location = page.headers.get('location');
      if (location !== null) return new URL(location, url);
      const text = await page.text();
      const ticket = /name="ticket" value="([^"]+)"/.exec(text)?.[1];
      if (ticket === undefined) throw new Error(`no question: ${page.status} ${text}`);
      const posted = await post(`${origin}/oauth/authorize`, { ticket, decision, ...more });
      const to = posted.headers.get('location');
      if (to === null) throw new Error(`no way back: ${posted.status} ${await posted.text()}`);
      return new URL(to);
    },
  };
}

/** A verifier and its S256 challenge. */
export function pkce(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}
