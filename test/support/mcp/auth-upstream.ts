// An MCP server whose users sign in, and its authorization server: as faulty as a test wants it.
import { createHash, randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { startLegacyUpstream, type Upstream } from './upstreams.ts';

export interface AuthUpstream {
  readonly url: string;
  readonly origin: string;
  readonly tools: Upstream;
  /** Requests of the authorization server: path and form or body. */
  readonly asked: { readonly path: string; readonly form: URLSearchParams; readonly authorization: string }[];
  /** Bearer tokens that the MCP server saw. */
  readonly bearers: string[];
  /** Tokens that count. */
  readonly valid: Set<string>;
  readonly refreshes: Set<string>;
  /** What is different from a good server. */
  odd: {
    metadata?: Record<string, unknown>;
    resource?: Record<string, unknown>;
    noResource?: boolean;
    noMetadata?: boolean;
    tokens?: (form: URLSearchParams) => { status: number; body: unknown } | undefined;
    redirect?: boolean;
    expiresIn?: number;
    delayMs?: number;
    /** The MCP server takes no token. */
    noTokens?: boolean;
  };
  close(): Promise<void>;
}

export async function startAuthUpstream(): Promise<AuthUpstream> {
  const tools = await startLegacyUpstream();
  const codes = new Map<
    string,
    { challenge: string; redirectUri: string; client: string; resource: string }
  >();
  const server = http.createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => void answer(req, res, Buffer.concat(pieces).toString()).catch(() => res.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const made: AuthUpstream = {
    origin,
    url: `${origin}/mcp`,
    tools,
    asked: [],
    bearers: [],
    valid: new Set(),
    refreshes: new Set(),
    odd: {},
    async close() {
      await tools.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
  const send = (
    res: http.ServerResponse,
    status: number,
    body: unknown,
    headers: Record<string, string> = {},
  ): void => {
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(JSON.stringify(body));
  };
  const given = () => {
    const tokens = { access_token: `at-${randomUUID()}`, refresh_token: `rt-${randomUUID()}` };
    made.valid.add(tokens.access_token);
    made.refreshes.add(tokens.refresh_token);
    return { ...tokens, token_type: 'Bearer', expires_in: made.odd.expiresIn ?? 3600 };
  };

  async function answer(req: http.IncomingMessage, res: http.ServerResponse, body: string): Promise<void> {
    const url = new URL(req.url ?? '/', origin);
    const { odd } = made;
    if (url.pathname === '/mcp') return proxied(req, res, body);
    const form = new URLSearchParams(body);
    made.asked.push({ path: url.pathname, form, authorization: req.headers.authorization ?? '' });
    if (odd.redirect)
      return void res.writeHead(307, { location: `${origin}/elsewhere${url.pathname}` }).end();
    if (url.pathname === '/.well-known/oauth-protected-resource/mcp' && !odd.noResource)
      return send(res, 200, {
        resource: made.url,
        authorization_servers: [origin],
        scopes_supported: ['tools'],
        ...odd.resource,
      });
    if (url.pathname === '/.well-known/oauth-authorization-server' && !odd.noMetadata)
      return send(res, 200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        revocation_endpoint: `${origin}/revoke`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        ...odd.metadata,
      });
    if (url.pathname === '/register')
      return send(res, 201, { ...(JSON.parse(body) as object), client_id: `client-${randomUUID()}` });
    if (url.pathname === '/revoke') {
      made.refreshes.delete(form.get('token') ?? '');
      return send(res, 200, {});
    }
    if (url.pathname === '/authorize') {
      const query = url.searchParams;
      const code = `code-${randomUUID()}`;
      codes.set(code, {
        challenge: query.get('code_challenge') ?? '',
        redirectUri: query.get('redirect_uri') ?? '',
        client: query.get('client_id') ?? '',
        resource: query.get('resource') ?? '',
      });
      const back = new URL(query.get('redirect_uri') ?? '');
      back.searchParams.set('code', code);
      back.searchParams.set('state', query.get('state') ?? '');
      back.searchParams.set('iss', origin);
      return void res.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname === '/token') return token(res, form, req.headers.authorization);
    send(res, 404, {});
  }

  async function token(
    res: http.ServerResponse,
    form: URLSearchParams,
    authorization: string | undefined,
  ): Promise<void> {
    if (made.odd.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, made.odd.delayMs));
    const own = made.odd.tokens?.(form);
    if (own !== undefined) return send(res, own.status, own.body);
    const type = form.get('grant_type');
    if (type === 'authorization_code') {
      const code = codes.get(form.get('code') ?? '');
      codes.delete(form.get('code') ?? '');
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      const isGood =
        code?.challenge === challenge &&
        code.redirectUri === form.get('redirect_uri') &&
        code.resource === form.get('resource');
      return isGood ? send(res, 200, given()) : send(res, 400, { error: 'invalid_grant' });
    }
    if (type === 'refresh_token') {
      const isGood = made.refreshes.delete(form.get('refresh_token') ?? '');
      return isGood ? send(res, 200, given()) : send(res, 400, { error: 'invalid_grant' });
    }
    const isOwn = authorization === `Basic ${Buffer.from('service:a-secret').toString('base64')}`;
    if (type !== 'client_credentials' || !isOwn) return send(res, 401, { error: 'invalid_client' });
    const { refresh_token: _, ...rest } = given();
    send(res, 200, rest);
  }

  async function proxied(req: http.IncomingMessage, res: http.ServerResponse, body: string): Promise<void> {
    const bearer = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1];
    if (bearer !== undefined) made.bearers.push(bearer);
    if (bearer === undefined || made.odd.noTokens || !made.valid.has(bearer)) {
      const metadata = made.odd.noResource
        ? ''
        : ` resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      return send(res, 401, { error: 'invalid_token' }, { 'www-authenticate': `Bearer${metadata}` });
    }
    const { host: _, authorization: __, ...headers } = req.headers as Record<string, string>;
    const asked = http.request(tools.url, { method: req.method ?? 'POST', headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(res);
    });
    asked.on('error', () => res.destroy());
    res.on('close', () => asked.destroy());
    asked.end(body);
  }
  return made;
}
