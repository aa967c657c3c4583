// A real OpenID provider (oidc-provider) on a free loopback port, and a browser that signs in at it.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import Provider from 'oidc-provider';

/** What the provider says of an account, by its login. */
export type Accounts = Map<string, Readonly<Record<string, unknown>>>;

export interface IdentityProvider {
  readonly issuer: string;
  readonly accounts: Accounts;
  /** The paths that it was asked at. */
  readonly asked: readonly string[];
  /** Begins to answer, for a client that comes back to this address. */
  serve(redirectUri: string): void;
  /** A token that the provider signs, e.g. to log somebody out. */
  sign(claims: JWTPayload, type?: string): Promise<string>;
  close(): Promise<void>;
}

export const CLIENT = { id: 'sluice', secret: 'a-secret-of-the-client-0123456789' } as const;

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const server = http.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accounts: Accounts = new Map();
  const asked: string[] = [];
  server.on('request', ({ url = '' }) => asked.push(url.split('?', 1)[0] ?? ''));
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const kid = 'of-tests';
  const jwks = { keys: [{ ...(await exportJWK(privateKey)), kid, use: 'sig', alg: 'RS256' }] };
  return {
    sign: (claims, typ = 'logout+jwt') =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, typ }).sign(privateKey),
    issuer,
    accounts,
    asked,
    serve(redirectUri) {
      const provider = new Provider(issuer, {
        clients: [
          {
            client_id: CLIENT.id,
            client_secret: CLIENT.secret,
            redirect_uris: [redirectUri],
            post_logout_redirect_uris: [new URL('/console/signed-out', redirectUri).href],
            response_types: ['code'],
            grant_types: ['authorization_code'],
          },
        ],
        claims: {
          openid: ['sub', 'groups'],
          email: ['email', 'email_verified', 'xms_edov'],
          profile: ['given_name', 'family_name'],
        },
        jwks,
        cookies: { keys: ['of-tests'] },
        pkce: { required: () => true },
        findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...accounts.get(id) }) }),
      });
      server.on('request', provider.callback());
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A browser: it keeps cookies by host and port, and follows redirects when told to. */
export class Browser {
  readonly #jar = new Map<string, Map<string, string>>();

  cookies(origin: string): Map<string, string> {
    const found = this.#jar.get(origin) ?? new Map<string, string>();
    this.#jar.set(origin, found);
    return found;
  }

  /** One request; the redirect is an answer. */
  async ask(url: string, init: { readonly method?: string; readonly body?: string } = {}): Promise<Response> {
    const jar = this.cookies(new URL(url).origin);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, {
      method: init.method ?? 'GET',
      redirect: 'manual',
      headers: {
        cookie,
        ...(init.body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(init.body === undefined ? {} : { body: init.body }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(pair.slice(0, at));
      else jar.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return answer;
  }

  /** Signs out at the provider, by the page that asks whether to. @returns where it sends the browser, and how it asked */
  async signOut(location: string): Promise<{ readonly back: string; readonly page: string }> {
    const answer = await this.ask(location);
    const page = await answer.text();
    const action = /action="([^"]+)"/.exec(page)?.[1];
    const xsrf = /name="xsrf" value="(\w+)"/.exec(page)?.[1];
    if (action === undefined || xsrf === undefined) return { back: '', page };
    const body = new URLSearchParams({ xsrf, logout: 'yes' }).toString();
    const posted = await this.ask(new URL(action, location).href, { method: 'POST', body });
    return { back: posted.headers.get('location') ?? '', page };
  }

  /** Signs in at the provider, from its address for authorisation. @returns where it sends the browser */
  async authorise(location: string, login: string, end = '/console/callback'): Promise<string> {
    let url = location;
    for (let step = 0; step < 20; step++) {
      const answer = await this.ask(url);
      const next = answer.headers.get('location');
      if (next !== null) {
        url = new URL(next, url).href;
        if (url.includes(end)) return url;
        continue;
      }
      const page = await answer.text();
      const action = /action="([^"]+)"/.exec(page)?.[1] ?? url;
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? 'login';
      const body = new URLSearchParams({ prompt, login, password: 'x' }).toString();
      const posted = await this.ask(new URL(action, url).href, { method: 'POST', body });
      url = new URL(posted.headers.get('location') ?? '', url).href;
    }
    throw new Error('the provider does not send the browser back');
  }
}
