import type { LookupAddress } from 'node:dns';
import test from 'ava';
import { NOTHING_ALLOWED, parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import type { Lookup } from '../../../src/lib/egress/connector.ts';
import { call, dialer, refusedWith, serve } from './upstreams.ts';

/** A resolver that gives the next answer each time, and the last for ever. */
function resolver(...answers: readonly (readonly string[])[]): Lookup & { asked: number } {
  const lookup = ((_name, _options, callback) => {
    const found = answers[Math.min(lookup.asked++, answers.length - 1)]!;
    const list: LookupAddress[] = found.map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }));
    setImmediate(() => callback(null, list));
  }) as Lookup & { asked: number };
  lookup.asked = 0;
  return lookup;
}

test('a name that resolves to a private address is refused, and the message does not say to which', async (t) => {
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '64:ff9b::a00:1',
    '169.254.169.254',
    'not an address',
  ]) {
    const out = dialer(t, { allow: NOTHING_ALLOWED, lookup: resolver([address]) });
    const error = await refusedWith(t, 'host_refused', out.whole(call('http://api.example.com'), 10));
    t.is(error.status, 400);
    t.false(error.message.includes(address));
    t.regex(String(error.details.cause), /resolved to/);
  }
});

test('one refused address among public ones refuses the name', async (t) => {
  const out = dialer(t, {
    allow: NOTHING_ALLOWED,
    lookup: resolver(['1.1.1.1', '2606:4700::1', '10.0.0.1']),
  });
  await refusedWith(t, 'host_refused', out.whole(call('https://api.example.com'), 10));
});

test('rebinding: the checked address is the one called, and each connection is checked anew', async (t) => {
  const up = await serve(t, (_req, res) => res.writeHead(200, { connection: 'close' }).end('x'));
  // First an address that may be called, from then on one that may not.
  const lookup = resolver(['127.0.0.1'], ['127.0.0.2']);
  const out = dialer(t, { allow: parseAllowList('127.0.0.1'), lookup });
  t.is((await out.whole(call(`http://api.example.com:${up.port}`), 10)).status, 200);
  t.is(lookup.asked, 1, 'no second resolution between the check and the socket');
  await refusedWith(t, 'host_refused', out.whole(call(`http://api.example.com:${up.port}`), 10));
  t.is(lookup.asked, 2);
});

test('a warm connection asks no resolver', async (t) => {
  const up = await serve(t, (_req, res) => res.end('x'));
  const lookup = resolver(['127.0.0.1']);
  const out = dialer(t, { lookup });
  for (let i = 0; i < 9; i++) await out.whole(call(`http://api.example.com:${up.port}`), 10);
  // Undici lets a turn of the event loop pass before it uses a socket again, so calls without a pause take turns on two.
  t.true(lookup.asked <= 2);
});

test('the next checked address is tried when the first does not answer', async (t) => {
  const up = await serve(t, (_req, res) => res.end('x'));
  const out = dialer(t, {
    allow: parseAllowList('127.0.0.0/8'),
    lookup: resolver(['127.0.0.9', '127.0.0.1']),
  });
  t.is((await out.whole(call(`http://api.example.com:${up.port}`), 10)).status, 200);
});

test('an allow-listed name may be private, but never a metadata address', async (t) => {
  const up = await serve(t, (_req, res) => res.end('x'));
  const allow = parseAllowList('vllm.internal,*.svc.cluster.local:8000');
  const out = dialer(t, { allow, lookup: resolver(['127.0.0.1']) });
  t.is((await out.whole(call(`http://vllm.internal:${up.port}`), 10)).status, 200);
  await refusedWith(t, 'host_refused', out.whole(call('http://a.b.svc.cluster.local:8001'), 10));
  for (const address of ['169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254']) {
    const trapped = dialer(t, { allow, lookup: resolver([address]) });
    await refusedWith(t, 'host_refused', trapped.whole(call('http://vllm.internal'), 10));
  }
});

test('a name that does not resolve is unreachable', async (t) => {
  const failing: Lookup = (name, _options, callback) =>
    callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' }), []);
  for (const lookup of [failing, resolver([])]) {
    const error = await refusedWith(
      t,
      'upstream_unreachable',
      dialer(t, { lookup }).whole(call('http://api.example.com'), 10),
    );
    t.is(error.message, 'api.example.com cannot be reached: the name does not resolve');
  }
});

test('a refused connection names the host and not the address behind it', async (t) => {
  const out = dialer(t, { allow: parseAllowList('gone.internal'), lookup: resolver(['127.0.0.1']) });
  const error = await refusedWith(
    t,
    'upstream_unreachable',
    out.whole(call('http://gone.internal:1024'), 10),
  );
  t.is(error.message, 'gone.internal cannot be reached: the connection was refused');
});

test('a resolver that never answers runs into the connect timeout', async (t) => {
  const out = dialer(t, { lookup: () => {}, connectTimeoutMs: 50 });
  const error = await refusedWith(t, 'upstream_timeout', out.whole(call('http://api.example.com'), 10));
  t.is(error.message, 'api.example.com did not accept a connection in time');
});
