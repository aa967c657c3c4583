// One renewal for all instances: the lease is in the store, and an instance that died frees it by its expiry.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { type McpConnectionBody, mcpConnections } from '../../src/access/mcp/mcp-collections.ts';
import { type Connection, UserTokens } from '../../src/access/mcp-oauth/user-tokens.ts';
import { openStores } from '../../src/app/stores.ts';
import { parseAllowList } from '../../src/lib/egress/allow-list.ts';
import { createDialer } from '../../src/lib/egress/dialer.ts';
import { readSettings } from '../../src/settings.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { type AuthUpstream, startAuthUpstream } from '../support/mcp/auth-upstream.ts';

const ORGANISATION = randomUUID();
const scope = { organisationId: ORGANISATION, workspaceId: undefined };
let upstream: AuthUpstream;
let stores: Awaited<ReturnType<typeof openStores>>;
const folder = mkdtempSync(join(tmpdir(), 'sluice-renewal-'));
const dialer = createDialer({ allow: parseAllowList('127.0.0.1/32'), localServers: false });
test.before(async () => {
  upstream = await startAuthUpstream();
  stores = await openStores(readSettings({ GATEWAY_DATA_DIR: folder }), createLog('silent'));
});
test.after.always(async () => {
  await stores?.close();
  await upstream?.close();
  await dialer.close();
  rmSync(folder, { recursive: true, force: true });
});

/** An instance with what its replica knows. */
function instance(known: Connection) {
  let current = known;
  return new UserTokens({
    documents: stores.documents,
    dialer,
    replica: {
      connectionOf: () => current,
      connectionChanged: (now) => {
        current = now;
      },
      integration: () => undefined,
      server: () => undefined,
    },
    clientSecret: async () => undefined,
    now: Date.now,
    onTrouble: () => {},
  });
}
const insert = (more: Partial<McpConnectionBody> = {}) => {
  upstream.refreshes.add('rt-first');
  return stores.documents.insert(scope, mcpConnections, {
    id: randomUUID(),
    createdAt: Date.now(),
    body: {
      serverId: randomUUID(),
      userId: 'u',
      tokens: { accessToken: 'at-first', refreshToken: 'rt-first' },
      expiresAt: Date.now() + 1000,
      clientId: 'c',
      oauth: {
        url: upstream.origin,
        issuer: upstream.origin,
        tokenEndpoint: `${upstream.origin}/token`,
        resource: upstream.url,
      },
      ...more,
    },
  });
};

test.serial('eight instances at once renew a token once, and all have the new one', async (t) => {
  const connection = await insert();
  const before = upstream.asked.length;
  upstream.odd = { delayMs: 300 };
  const tokens = await Promise.all(
    Array.from({ length: 8 }, () => instance(connection).bearer(ORGANISATION, 's', 'u')),
  );
  t.is(upstream.asked.length, before + 1);
  t.is(new Set(tokens).size, 1);
  t.not(tokens[0], 'at-first');
});

test.serial('the lease of an instance that died ends by itself', async (t) => {
  const connection = await insert({ lease: { owner: 'dead', until: Date.now() + 700 } });
  upstream.odd = {};
  const token = await instance(connection).bearer(ORGANISATION, 's', 'u');
  t.regex(String(token), /^at-(?!first)/);
  t.true(Date.now() >= connection.body.lease!.until);
});
