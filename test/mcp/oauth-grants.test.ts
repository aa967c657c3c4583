// Grants over every protocol: listed and ended alike.
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import test from 'ava';
import { OauthGrantsService } from '../../gen/gateway/admin/v2/oauth_grants_pb.ts';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { pkce, signedIn } from '../support/mcp/oauth-person.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startMcpGateway({ tools: { url: 'http://127.0.0.1:9/mcp' } });
});
test.after.always(() => gateway?.close());

async function grant(): Promise<void> {
  const form = (fields: Record<string, string>) => new URLSearchParams(fields);
  const uri = 'https://app.example/back';
  const registered = await fetch(`${gateway.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'App', redirect_uris: [uri] }),
  });
  const { client_id: id } = (await registered.json()) as { client_id: string };
  const { verifier, challenge } = pkce();
  const query = form({
    response_type: 'code',
    client_id: id,
    redirect_uri: uri,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    resource: `${gateway.origin}/tools/mcp`,
  });
  const person = await signedIn(gateway, WORKSPACE_KEY);
  const back = await person.answer(`${gateway.origin}/oauth/authorize?${query}`);
  const body = form({
    grant_type: 'authorization_code',
    client_id: id,
    redirect_uri: uri,
    code: back.searchParams.get('code') ?? '',
    code_verifier: verifier,
  });
  const answer = await fetch(`${gateway.origin}/oauth/token`, { method: 'POST', body });
  if (answer.status !== 200) throw new Error(await answer.text());
}

for (const protocol of ['connect', 'grpc'] as const)
  test.serial(`grants over ${protocol}`, async (t) => {
    await grant();
    const options = { baseUrl: gateway.origin, httpVersion: '2' } as const;
    const transport =
      protocol === 'grpc'
        ? createGrpcTransport({ baseUrl: gateway.origin })
        : createConnectTransport(options);
    const client = createClient(OauthGrantsService, transport);
    const headers = { 'x-gateway-api-key': WORKSPACE_KEY };
    const { data, total } = await client.listOauthGrants({}, { headers });
    t.is(total, 1n);
    t.like(data[0], {
      object: 'oauth-grant',
      clientName: 'App',
      redirectHost: 'app.example',
      scope: 'mcp.invoke',
    });
    await t.throwsAsync(client.listOauthGrants({ pageSize: 0 }, { headers }), {
      message: /invalid_argument/,
    });
    await t.throwsAsync(client.listOauthGrants({}), { message: /unauthenticated/ });
    await t.throwsAsync(client.deleteOauthGrant({ oauthGrantId: 'none' }, { headers }), {
      message: /not_found/,
    });
    await client.deleteOauthGrant({ oauthGrantId: data[0]?.id ?? '' }, { headers });
    t.is((await client.listOauthGrants({}, { headers })).total, 0n);
  });
