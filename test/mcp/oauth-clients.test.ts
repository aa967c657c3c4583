// Clients by the address of their metadata document: fetched through the firewall, bounded, never followed elsewhere.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type Certificates, makeCertificates } from '../support/certificates.ts';
import type { TestGateway } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { type Person, pkce, signedIn } from '../support/mcp/oauth-person.ts';
import { startLegacyUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { peopleOf } from '../support/people.ts';

type Documents = Map<string, (res: http.ServerResponse) => void>;
let certificates: Certificates;
let upstream: Upstream;
let gateway: TestGateway;
let person: Person;
let publisher: { origin: string; documents: Documents; asked: string[]; close(): Promise<void> };
const folder = mkdtempSync(join(tmpdir(), 'sluice-oauth-'));
const REDIRECT = 'https://app.example/back';
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

test.before(async () => {
  certificates = await makeCertificates(['localhost']);
  const documents: Documents = new Map();
  const asked: string[] = [];
  const server = https.createServer(certificates.server, (req, res) => {
    asked.push(req.url ?? '');
    const answer = documents.get(req.url ?? '');
    if (answer === undefined) res.writeHead(404).end();
    else answer(res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  publisher = {
    origin: `https://localhost:${port}`,
    documents,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const ca = join(folder, 'ca.pem');
  writeFileSync(ca, certificates.authority.cert);
  upstream = await startLegacyUpstream();
  gateway = await startMcpGateway(
    { tools: { url: upstream.url } },
    { GATEWAY_EXTRA_CA: ca, GATEWAY_EGRESS_ALLOW: `localhost:${port},127.0.0.1` },
  );
  person = await signedIn(
    gateway,
    (await peopleOf(gateway).person(gateway.app.tenancy.workspaceId, 'member')).key,
  );
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
  await publisher?.close();
  rmSync(folder, { recursive: true, force: true });
});

const json =
  (value: unknown, headers: Record<string, string> = {}) =>
  (res: http.ServerResponse) => {
    res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers });
    res.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
let count = 0;
/** Publishes a document under a new address. @returns its address */
const publish = (make: (id: string) => (res: http.ServerResponse) => void): string => {
  const path = `/client-${++count}.json`;
  const id = publisher.origin + path;
  publisher.documents.set(path, make(id));
  return id;
};
const good = (id: string, more: Record<string, unknown> = {}) => ({
  client_id: id,
  client_name: 'Published',
  redirect_uris: [REDIRECT],
  token_endpoint_auth_method: 'none',
  ...more,
});
const authorizeUrl = (client: string, more: Record<string, string> = {}) =>
  `${gateway.origin}/oauth/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: client,
    redirect_uri: REDIRECT,
    code_challenge: pkce().challenge,
    code_challenge_method: 'S256',
    resource: `${gateway.origin}/tools/mcp`,
    ...more,
  })}`;

test.serial('a published client is asked for with its host, and gets a code', async (t) => {
  const id = publish((own) => json(good(own)));
  const page = await (await person.open(authorizeUrl(id))).text();
  t.true(page.includes('Published') && page.includes(new URL(id).host));
  t.truthy((await person.answer(authorizeUrl(id))).searchParams.get('code'));
});

test.serial('for strangers nothing is fetched', async (t) => {
  const before = publisher.asked.length;
  const id = publish((own) => json(good(own)));
  t.is((await fetch(authorizeUrl(id), { redirect: 'manual' })).status, 303);
  t.is(publisher.asked.length, before);
});

test.serial('a document that changes its redirect URIs changes where answers may go', async (t) => {
  const id = publish((own) => json(good(own)));
  t.is((await person.open(authorizeUrl(id))).status, 200);
  publisher.documents.set(
    new URL(id).pathname,
    json(good(id, { redirect_uris: ['https://app.example/new'] })),
  );
  const old = await person.open(authorizeUrl(id));
  t.is(old.status, 400);
  t.is(old.headers.get('location'), null);
  t.is((await person.open(authorizeUrl(id, { redirect_uri: 'https://app.example/new' }))).status, 200);
});

test.serial('documents that are not the client’s own, or that lead elsewhere, are refused', async (t) => {
  const bad: ((id: string) => (res: http.ServerResponse) => void)[] = [
    (id) => json(good(`${id}x`)),
    (id) => json(good(id, { client_id: undefined })),
    (id) => json(good(id, { client_secret: 'x' })),
    (id) => json(good(id, { token_endpoint_auth_method: 'client_secret_basic' })),
    (id) => json(good(id, { redirect_uris: ['http://app.example/'] })),
    (id) => json(good(id, { redirect_uris: 'x' })),
    (id) => json({ ...good(id), padding: 'x'.repeat(64 * 1024) }),
    () => json('{'),
    () => json('[]'),
    (id) => json(good(id), { 'content-type': 'text/html' }),
    () => (res) => void res.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    () => (res) => void res.writeHead(500).end(),
    () => (res) => void res.destroy(),
  ];
  for (const [i, make] of bad.entries()) {
    const answer = await person.open(authorizeUrl(publish(make)));
    t.is(answer.status, 400, String(i));
    t.is(answer.headers.get('location'), null);
  }
});

test.serial(
  'a client with keys proves itself by a signed assertion, whenever it asks for tokens',
  async (t) => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const own = { ...(await exportJWK(publicKey)), kid: 'one' };
    const stranger = (await generateKeyPair('ES256')).privateKey;
    const keysPath = '/keys.json';
    publisher.documents.set(keysPath, json({ keys: [own] }));
    const inline = publish((id) =>
      json(good(id, { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [own] } })),
    );
    const byUri = publish((id) =>
      json(
        good(id, { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: publisher.origin + keysPath }),
      ),
    );
    const assertion = (id: string, more: Record<string, unknown> = {}, key = privateKey) =>
      new SignJWT({ iss: id, sub: id, aud: gateway.origin, jti: randomUUID(), ...more })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuedAt()
        .setExpirationTime('exp' in more ? Number(more.exp) : '2m')
        .sign(key);
    const ask = async (form: Record<string, string>) => {
      const answer = await fetch(`${gateway.origin}/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(form).toString(),
      });
      return { status: answer.status, json: (await answer.json()) as Record<string, string> };
    };
    const proof = (client_assertion: string) => ({ client_assertion, client_assertion_type: TYPE });
    for (const id of [inline, byUri]) {
      const { verifier, challenge } = pkce();
      const back = await person.answer(authorizeUrl(id, { code_challenge: challenge }));
      const form = {
        grant_type: 'authorization_code',
        redirect_uri: REDIRECT,
        code: back.searchParams.get('code') ?? '',
        code_verifier: verifier,
      };
      const now = Math.floor(Date.now() / 1000);
      const wrongs: Record<string, string>[] = [
        {},
        { client_assertion: await assertion(id) },
        proof('x'),
        proof(await assertion(id, {}, stranger)),
        proof(await assertion(id, { aud: 'https://other.example' })),
        proof(await assertion(id, { sub: 'https://other.example/client' })),
        proof(await assertion(id, { exp: now - 120 })),
        proof(await assertion(id, { exp: now + 7200 })),
        proof(await assertion(id, { jti: undefined })),
      ];
      for (const wrong of wrongs) {
        const { status, json: said } = await ask({ ...form, client_id: id, ...wrong });
        t.is(said.error, 'invalid_client', JSON.stringify(said));
        t.is(status, 401);
      }
      // The assertion names the client, too.
      const once = await assertion(id);
      const given = await ask({ ...form, ...proof(once) });
      t.is(given.status, 200, JSON.stringify(given.json));
      const renew = {
        grant_type: 'refresh_token',
        refresh_token: given.json.refresh_token ?? '',
        client_id: id,
      };
      t.is(
        (await ask({ ...renew, ...proof(once) })).json.error,
        'invalid_client',
        'an assertion counts once',
      );
      t.is((await ask(renew)).json.error, 'invalid_client');
      const atToken = await assertion(id, { aud: `${gateway.origin}/oauth/token` });
      t.is((await ask({ ...renew, ...proof(atToken) })).status, 200);
    }
    for (const more of [
      {},
      { jwks: { keys: [] } },
      { jwks: { keys: [await exportJWK(privateKey)] } },
      { jwks_uri: 'http://keys.example/keys.json' },
      { jwks: { keys: [own] }, jwks_uri: publisher.origin + keysPath },
    ]) {
      const id = publish((one) =>
        json(good(one, { token_endpoint_auth_method: 'private_key_jwt', ...more })),
      );
      const page = await person.open(authorizeUrl(id));
      t.is(page.status, 400, JSON.stringify(more));
    }
  },
);

test.serial('metadata documents do not reach into the network of the gateway', async (t) => {
  let reached = 0;
  const inside = http.createServer((_req, res) => {
    reached++;
    res.end('{}');
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
  const { port } = inside.address() as AddressInfo;
  try {
    for (const id of [
      `https://10.0.0.1/client`,
      `https://169.254.169.254/latest`,
      `https://[::ffff:10.0.0.1]/client`,
      `https://[fd00::1]/client`,
      `https://0x0a.0.0.1/client`,
      `http://localhost:${port}/client`,
      `https://user@localhost:${port}/client`,
      `https://metadata.google.internal/client`,
    ]) {
      const answer = await person.open(authorizeUrl(id));
      t.is(answer.status, 400, id);
      t.false((await answer.text()).includes('ECONN'));
    }
    t.is(reached, 0);
  } finally {
    inside.close();
    inside.closeAllConnections();
  }
});
