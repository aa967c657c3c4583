// A user connects to an upstream whose authorization server is a real one: oidc-provider with registration, resource
// indicators, rotated refresh tokens and revocation. It has no RFC 8414 metadata: OpenID Connect discovery finds it.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import Provider from 'oidc-provider';
import type { TestGateway } from '../support/gateway.ts';
import { Browser } from '../support/identity-provider.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { type Person, signedIn } from '../support/mcp/oauth-person.ts';
import { startLegacyUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { peopleOf } from '../support/people.ts';

let tools: Upstream;
let provider: Provider;
let server: http.Server;
let gateway: TestGateway;
let person: Person;
let key: string;
let issuer: string;
const bearers: string[] = [];
test.before(async () => {
  tools = await startLegacyUpstream();
  server = http.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const resource = `${issuer}/mcp`;
  provider = new Provider(issuer, {
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'tools offline_access',
          audience: resource,
          accessTokenFormat: 'opaque',
        }),
      },
    },
    scopes: ['openid', 'offline_access', 'tools'],
    cookies: { keys: ['of-tests'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    clientDefaults: { token_endpoint_auth_method: 'none' },
    findAccount: (_ctx: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
  } as never);
  const callback = provider.callback();
  server.on('request', (req, res) => void answered(req, res, callback));
  gateway = await startMcpGateway({ tools: { url: resource, integration: { authType: 'oauth_auto' } } });
  key = (await peopleOf(gateway).person(gateway.app.tenancy.workspaceId, 'member')).key;
  person = await signedIn(gateway, key);
});
test.after.always(async () => {
  await gateway?.close();
  await tools?.close();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
});

async function answered(
  req: http.IncomingMessage,
  res: http.ServerResponse,
  callback: (req: http.IncomingMessage, res: http.ServerResponse) => unknown,
): Promise<void> {
  if (req.url === '/.well-known/oauth-protected-resource/mcp') {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({
        resource: `${issuer}/mcp`,
        authorization_servers: [issuer],
        scopes_supported: ['tools', 'offline_access'],
      }),
    );
    return;
  }
  if (req.url !== '/mcp') return void callback(req, res);
  const bearer = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? '';
  const token = await provider.AccessToken.find(bearer);
  if (token === undefined || token.isExpired) {
    req.resume();
    res
      .writeHead(401, {
        'www-authenticate': `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp"`,
      })
      .end();
    return;
  }
  bearers.push(bearer);
  const { host: _, authorization: __, ...headers } = req.headers as Record<string, string>;
  const asked = http.request(tools.url, { method: req.method ?? 'POST', headers }, (answer) => {
    res.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(res);
  });
  req.pipe(asked);
}

const call = async (): Promise<string> => {
  const answer = await fetch(`${gateway.origin}/tools/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    }),
  });
  return answer.text();
};

test('a user connects at oidc-provider; the token is renewed when it counts no more, and revoked with the connection', async (t) => {
  t.regex(await call(), /connection_needed/);
  const begun = await person.post(`${gateway.origin}/oauth/connect/tools`, {});
  t.is(begun.status, 303, await begun.text());
  const cookie = begun.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const back = await new Browser().authorise(begun.headers.get('location') ?? '', 'ada', '/oauth/callback');
  t.is(new URL(back).searchParams.get('iss'), issuer);
  const done = await person.open(back, { cookie: `${person.cookie}; ${cookie}` });
  t.is(done.status, 200, await done.text());
  t.notRegex(await call(), /"error"/);
  const first = bearers.at(-1) ?? '';
  await (await provider.AccessToken.find(first))?.destroy();
  t.notRegex(await call(), /"error"/);
  t.not(bearers.at(-1), first, 'another token');
  const last = bearers.at(-1) ?? '';
  const ended = await fetch(`${gateway.origin}/v1/mcp-servers/tools/connections`, {
    method: 'DELETE',
    headers: { 'x-gateway-api-key': key },
  });
  t.is(ended.status, 200);
  t.is(await provider.AccessToken.find(last), undefined, 'revoked with its grant');
  t.regex(await call(), /connection_needed/);
});
