// The official conformance suite through the gateway, in every pairing of generations: what the server passes directly
// passes here, and across generations what both can say.
import { readFileSync } from 'node:fs';
import test from 'ava';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { conformance } from '../support/mcp/conformance.ts';
import { startKeyedProxy } from '../support/mcp/keyed-proxy.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startLegacyUpstream, startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';

let older: Upstream;
let newer: Upstream;
let gateway: TestGateway;
test.before(async () => {
  [older, newer] = await Promise.all([startLegacyUpstream(), startModernUpstream()]);
  gateway = await startMcpGateway({ older: { url: older.url }, newer: { url: newer.url } });
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await newer?.close();
});

/** What cannot be said across generations, and why. */
const INEXPRESSIBLE: Readonly<Record<string, string>> = {
  'server-stateless': 'an older server has no error for a capability that the client did not declare',
  'input-required-result-basic-elicitation':
    'the keys of questions are the server’s, and an older one has none',
};

for (const [slug, revision, isAcross] of [
  ['older', '2025-11-25', false],
  ['newer', '2026-07-28', false],
  ['older', '2026-07-28', true],
  ['newer', '2025-11-25', true],
] as const) {
  test.serial(`${revision} at the ${slug} server`, async (t) => {
    t.timeout(600_000);
    const proxy = await startKeyedProxy(gateway.origin, `/${slug}/mcp`, WORKSPACE_KEY);
    try {
      const results = await conformance(proxy.url, revision);
      const failed = requiredOf(revision).filter((name) => results.get(name) !== true);
      // No more than these, and no fewer: what comes to pass is taken out.
      const isBackwards = isAcross && slug === 'older';
      t.deepEqual(failed.sort(), isBackwards ? Object.keys(INEXPRESSIBLE).sort() : []);
    } finally {
      await proxy.close();
    }
  });
}

/** The scenarios that a revision requires of servers. */
function requiredOf(revision: string): string[] {
  const file = new URL(
    `../../node_modules/@modelcontextprotocol/conformance/requirements/${revision}.yaml`,
    import.meta.url,
  );
  const [, block = ''] = /^server:\n((?:(?: .*| *#.*)?\n)*)/m.exec(readFileSync(file, 'utf8')) ?? [];
  const names = [...block.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name!);
  if (names.length < 30) throw new Error('the requirements cannot be read');
  return names;
}
