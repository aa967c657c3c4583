// Whose address counts behind proxies.
import test from 'ava';
import { clientAddress, parseProxies } from '../../src/lib/client-address.ts';

const trusted = parseProxies('10.0.0.0/8, 192.0.2.7, 2001:db8::/32');

const CASES: readonly (readonly [name: string, peer: string, header: string | undefined, client: string])[] =
  [
    ['no header', '203.0.113.9', undefined, '203.0.113.9'],
    ['a header of a peer that is not trusted', '203.0.113.9', '1.2.3.4', '203.0.113.9'],
    ['a trusted peer', '10.1.2.3', '198.51.100.4', '198.51.100.4'],
    ['a trusted peer without a header', '10.1.2.3', undefined, '10.1.2.3'],
    ["the client's own claim stands left", '10.1.2.3', '1.1.1.1, 198.51.100.4', '198.51.100.4'],
    ['several trusted hops', '10.1.2.3', '1.1.1.1, 198.51.100.4, 192.0.2.7, 10.9.9.9', '198.51.100.4'],
    ['only trusted hops', '10.1.2.3', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['a hop that cannot be read ends it', '10.1.2.3', '198.51.100.4, unknown, 10.0.0.2', '10.0.0.2'],
    ['garbage', '10.1.2.3', '<script>', '10.1.2.3'],
    ['an empty header', '10.1.2.3', '', '10.1.2.3'],
    ['IPv4 on a dual-stack socket', '::ffff:10.1.2.3', '198.51.100.4', '198.51.100.4'],
    ['a dual-stack peer that is not trusted', '::ffff:203.0.113.9', '1.2.3.4', '203.0.113.9'],
    ['IPv6', '2001:DB8::1', '2001:470::2', '2001:470::2'],
    ['ports', '10.1.2.3', '198.51.100.4:4711', '198.51.100.4'],
    ['IPv6 with a port', '10.1.2.3', '[2001:470::2]:4711', '2001:470::2'],
    ['no peer', '', '1.2.3.4', ''],
  ];

for (const [name, peer, header, client] of CASES) {
  test(name, (t) => t.is(clientAddress(peer, header, trusted), client));
}

test('a header of thousands of hops costs no more than one of a few', (t) => {
  const header = Array(50_000).fill('10.0.0.1').join(', ');
  t.is(clientAddress('10.1.2.3', header, trusted), '10.0.0.1');
});

test('a setting that cannot be read names the item', (t) => {
  t.throws(() => parseProxies('10.0.0.0/8, proxy.example'), { message: /"proxy.example"/ });
  t.throws(() => parseProxies('10.0.0.0/33'), { message: /10\.0\.0\.0\/33/ });
  t.deepEqual(parseProxies(' , '), []);
});
