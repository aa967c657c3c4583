// Key sets by URL: fetched through the egress dialer, kept, renewed; and what a bad issuer can do.
import test, { type ExecutionContext } from 'ava';
import { COOL_DOWN_MS, REFRESH_MS, STALE_MS } from '../../../src/access/jwt/remote-keys.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { withSlack } from '../../support/slack.ts';
import { type TokenBench, tokenBench, WORKSPACE } from './bench.ts';
import { type Behaviour, claimsWith, type JwksServer, sign, signingKey, startJwks } from './issuer.ts';

const [first, second] = await Promise.all([signingKey('ES256', 'first'), signingKey('ES256', 'second')]);

const open: { close(): Promise<void> }[] = [];
test.after.always(() => Promise.all(open.map((one) => one.close())));

async function start(allow?: string): Promise<TokenBench & { server: JwksServer }> {
  const server = await startJwks([first.publicJwk]);
  const bench = tokenBench(allow);
  open.push(server, bench);
  bench.configure({ jwksUri: server.url });
  return { ...bench, server };
}

const refusal = async (t: ExecutionContext, answer: unknown): Promise<GatewayError> =>
  (await t.throwsAsync(async () => answer as Promise<unknown>, { instanceOf: GatewayError })) as GatewayError;

test('fetched once for many tokens', async (t) => {
  const { tokens, server } = await start();
  const made = await Promise.all(
    Array.from({ length: 20 }, (_, i) => sign(first, claimsWith({ jti: String(i) }))),
  );
  const principals = await Promise.all(made.map((token) => tokens.principalOf(token)));
  t.is(new Set(principals.map(({ keyId }) => keyId)).size, 20);
  t.is(server.hits, 1);
});

test('rotation: a new key is fetched when a token names it, an old one ends when it is gone', async (t) => {
  const { tokens, server, pass } = await start();
  const old = await sign(first);
  await tokens.principalOf(old);
  server.keys = [first.publicJwk, second.publicJwk];
  pass(COOL_DOWN_MS);
  const principal = await tokens.principalOf(await sign(second));
  t.is(principal.workspaceId, WORKSPACE);
  t.is(server.hits, 2);
  t.false(tokens.principalOf(old) instanceof Promise, 'the old key still counts');

  server.keys = [second.publicJwk];
  pass(REFRESH_MS);
  t.false(tokens.principalOf(old) instanceof Promise, 'nobody waits for the renewal');
  await until(() => {
    const answer = tokens.principalOf(old);
    if (!(answer instanceof Promise)) return false;
    answer.catch(() => {});
    return server.hits === 3;
  });
  t.regex((await refusal(t, tokens.principalOf(old))).message, /signing key .* not found/);
});

test('unknown key names make no storm: one fetch in the cool-down, whoever asks', async (t) => {
  const { tokens, server, pass } = await start();
  await tokens.principalOf(await sign(first));
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 20; i++) {
      const error = await refusal(
        t,
        tokens.principalOf(await sign(second, claimsWith(), { kid: `${round}-${i}` })),
      );
      t.regex(error.message, /signing key .* not found/);
    }
    t.is(server.hits, 1);
  }
  pass(COOL_DOWN_MS);
  await Promise.all(
    Array.from({ length: 50 }, async (_, i) =>
      refusal(t, tokens.principalOf(await sign(second, claimsWith(), { kid: `again-${i}` }))),
    ),
  );
  t.is(server.hits, 2);
});

test('an outage: the last set counts for a day, and no longer', async (t) => {
  const { tokens, server, pass, troubles } = await start();
  await tokens.principalOf(await sign(first));
  server.behaviour = (_, res) => res.writeHead(503).end();
  pass(REFRESH_MS + 1);
  const fresh = await sign(first, claimsWith({ jti: 'fresh', exp: Date.now() }));
  t.is((await tokens.principalOf(fresh)).workspaceId, WORKSPACE);
  await until(() => troubles.length === 1);
  const unknown = await refusal(t, tokens.principalOf(await sign(second)));
  t.is(unknown.reason, 'key_set_unavailable', 'it may well be a good one');
  t.is(unknown.status, 503);
  t.true(
    Number(unknown.details.retryAfterMs) >= 1000 && Number(unknown.details.retryAfterMs) <= COOL_DOWN_MS,
  );
  pass(STALE_MS);
  t.is((await refusal(t, tokens.principalOf(fresh))).reason, 'key_set_unavailable');
  server.behaviour = undefined;
  pass(COOL_DOWN_MS);
  t.is((await tokens.principalOf(fresh)).workspaceId, WORKSPACE);
});

const secret = 'TOP-SECRET-ANSWER';
const BAD: readonly (readonly [string, Behaviour, RegExp])[] = [
  [
    'redirects',
    (req, res) => res.writeHead(302, { location: `http://${req.headers.host}/other` }).end(),
    /302/,
  ],
  ['answers 404', (_, res) => res.writeHead(404).end(secret), /404/],
  [
    'answers too much',
    (_, res) => void res.end(JSON.stringify({ keys: [], padding: 'x'.repeat(300_000) })),
    /longer than/,
  ],
  ['answers no JSON', (_, res) => void res.end(`<html>${secret}`), /JSON|token/i],
  ['answers no set', (_, res) => void res.end('{"keys":{}}'), /not a JSON Web Key Set/],
  [
    'answers too many keys',
    (_, res) => void res.end(JSON.stringify({ keys: Array(65).fill(first.publicJwk) })),
    /more than 64/,
  ],
  ['hangs up', (req) => void req.socket.destroy(), /closed without an answer|cannot be reached/],
];

for (const [name, behaviour, trouble] of BAD) {
  test(`503: the issuer ${name}`, async (t) => {
    const { tokens, server, troubles } = await start();
    server.behaviour = behaviour;
    const error = await refusal(t, tokens.principalOf(await sign(first)));
    t.is(error.reason, 'key_set_unavailable');
    t.false(error.message.includes(secret));
    t.regex(String(troubles[0]), trouble);
    t.is(server.hits, name === 'hangs up' ? server.hits : 1, 'nothing else was asked');
    const hits = server.hits;
    await refusal(t, tokens.principalOf(await sign(first, claimsWith({ jti: 'another' }))));
    t.is(server.hits, hits, 'not again within the cool-down');
  });
}

test('503: the issuer is slow, byte by byte', async (t) => {
  const { tokens, server, troubles } = await start();
  server.behaviour = (_, res) => {
    const timer = setInterval(() => res.write(' '), 100);
    res.on('close', () => clearInterval(timer));
  };
  const begun = performance.now();
  t.is((await refusal(t, tokens.principalOf(await sign(first)))).reason, 'key_set_unavailable');
  const took = performance.now() - begun;
  t.true(took > 4900 && took < withSlack(7000), `${took} ms`);
  t.regex(String(troubles[0]), /within 5000 ms/);
});

test('503: a private address that the allow list does not open', async (t) => {
  const { tokens, server, troubles } = await start('');
  t.is((await refusal(t, tokens.principalOf(await sign(first)))).reason, 'key_set_unavailable');
  t.is((troubles[0] as GatewayError).reason, 'host_refused');
  t.is(server.hits, 0);
});

test('what cannot be used in a published set is left out', async (t) => {
  const { tokens, server } = await start();
  const weak = await signingKey('RS256', 'weak');
  server.keys = [
    { ...second.privateJwk },
    { kty: 'oct', kid: 'shared', k: 'c2VjcmV0' },
    { ...weak.publicJwk, n: weak.publicJwk.n?.slice(0, 171) ?? '' },
    { ...first.publicJwk, kid: 'encryption', use: 'enc' },
    null as never,
    first.publicJwk,
  ];
  t.is((await tokens.principalOf(await sign(first))).workspaceId, WORKSPACE);
  for (const [key, kid] of [
    [second, 'second'],
    [weak, 'weak'],
    [first, 'encryption'],
    [first, 'shared'],
  ] as const) {
    const error = await refusal(t, tokens.principalOf(await sign(key, claimsWith(), { kid })));
    t.regex(error.message, /signing key .* not found/, kid);
  }
});

test('settings that change keep the set of the same address', async (t) => {
  const { tokens, server, configure } = await start();
  const token = await sign(first);
  await tokens.principalOf(token);
  configure({ jwksUri: server.url, audiences: ['sluice'] });
  t.is((await tokens.principalOf(token)).workspaceId, WORKSPACE);
  t.is(server.hits, 1);
});

async function until(met: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !met(); ) {
    if (Date.now() > end) throw new Error('it did not come to pass');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
