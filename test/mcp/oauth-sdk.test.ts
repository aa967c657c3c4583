// The official SDK's clients, of both generations, get tokens from the gateway and call tools with them.
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { UnauthorizedError as UnauthorizedV1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import test from 'ava';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { signedIn } from '../support/mcp/oauth-person.ts';
import { startLegacyUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { peopleOf } from '../support/people.ts';

let upstream: Upstream;
let gateway: TestGateway;
test.before(async () => {
  upstream = await startLegacyUpstream();
  gateway = await startMcpGateway({ tools: { url: upstream.url }, other: { url: upstream.url } });
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

/** A client that keeps what it is given, as programs do. */
function keeper() {
  const kept: { client?: unknown; tokens?: unknown; verifier?: string; asked?: URL } = {};
  const provider = {
    redirectUrl: 'http://127.0.0.1:43210/callback',
    clientMetadata: {
      client_name: 'A program',
      redirect_uris: ['http://127.0.0.1:1/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
    state: () => 'a-state',
    clientInformation: () => kept.client,
    saveClientInformation: (given: unknown) => {
      kept.client = given;
    },
    tokens: () => kept.tokens,
    saveTokens: (given: unknown) => {
      kept.tokens = given;
    },
    redirectToAuthorization: (url: URL) => {
      kept.asked = url;
    },
    saveCodeVerifier: (given: string) => {
      kept.verifier = given;
    },
    codeVerifier: () => kept.verifier ?? '',
  };
  return { kept, provider };
}

for (const version of ['v2', 'v1'] as const)
  test.serial(
    `the SDK's client ${version}: discovery, registration, consent, tokens, a call, a refresh`,
    async (t) => {
      const people = peopleOf(gateway);
      const { key } = await people.person(gateway.app.tenancy.workspaceId, 'member');
      const person = await signedIn(gateway, key);
      const { kept, provider } = keeper();
      const url = new URL(`${gateway.origin}/tools/mcp`);
      const make = () =>
        version === 'v2'
          ? {
              client: new Client({ name: 'c', version: '1' }),
              transport: new StreamableHTTPClientTransport(url, {
                authProvider: provider as unknown as OAuthClientProvider,
              }),
            }
          : {
              client: new ClientV1({ name: 'c', version: '1' }),
              transport: new TransportV1(url, { authProvider: provider as never }),
            };
      const first = make();
      const error = await t.throwsAsync(first.client.connect(first.transport as never));
      t.true(
        version === 'v2' ? UnauthorizedError.isInstance(error) : error instanceof UnauthorizedV1,
        String(error),
      );
      const asked = kept.asked;
      t.truthy(asked);
      if (asked === undefined) return;
      t.is(asked.searchParams.get('resource'), url.href);
      t.is(asked.searchParams.get('code_challenge_method'), 'S256');
      const back = await person.answer(asked.href);
      t.is(back.searchParams.get('state'), 'a-state');
      t.is(back.searchParams.get('iss'), gateway.origin);
      t.is(`${back.origin}${back.pathname}`, provider.redirectUrl, 'the port of a loopback address is free');
      if (version === 'v2')
        await (first.transport as StreamableHTTPClientTransport).finishAuth(back.searchParams);
      else await (first.transport as TransportV1).finishAuth(back.searchParams.get('code') ?? '');
      const second = make();
      await second.client.connect(second.transport as never);
      const { tools } = await second.client.listTools();
      t.true(tools.length > 0);
      await second.client.close();
      // The access token is lost: the client renews it by itself.
      const before = kept.tokens as { access_token: string; refresh_token: string };
      kept.tokens = { ...before, access_token: 'slo_lost' };
      const third = make();
      await third.client.connect(third.transport as never);
      t.true((await third.client.listTools()).tools.length > 0);
      await third.client.close();
      const after = kept.tokens as { access_token: string; refresh_token: string };
      t.not(after.refresh_token, before.refresh_token, 'refresh tokens rotate');
      for (const { headers } of upstream.seen) t.false(JSON.stringify(headers).includes('slo_'));
      const log = gateway.logLines.join('');
      for (const secret of [after.access_token, after.refresh_token]) t.false(log.includes(secret));
    },
  );

test('the workspace key of a service signs in as well: the token is as much as the key', async (t) => {
  const person = await signedIn(gateway, WORKSPACE_KEY);
  const { kept, provider } = keeper();
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp`), {
    authProvider: provider as unknown as OAuthClientProvider,
  });
  const client = new Client({ name: 'c', version: '1' });
  await t.throwsAsync(client.connect(transport));
  const back = await person.answer(kept.asked?.href ?? '');
  await transport.finishAuth(back.searchParams);
  const next = new Client({ name: 'c', version: '1' });
  await next.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp`), {
      authProvider: provider as unknown as OAuthClientProvider,
    }),
  );
  t.true((await next.listTools()).tools.some(({ name }) => name.startsWith('tools__')));
  await next.close();
});
