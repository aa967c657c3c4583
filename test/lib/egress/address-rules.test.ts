import test from 'ava';
import {
  embeddedV4,
  isMetadata,
  isPublic,
  parseAddress,
  parseRange,
  within,
} from '../../../src/lib/egress/address-rules.ts';

const SPECIAL = `
  0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.0.1
  172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.175.48.1
  198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 fe80::1 fec0::1 fc00::1 fd12:3456::1 ff02::1 100::1 5f00::1 4000::1 e000::1
  2001::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 3ffe::1 3fff::1 2620:4f:8000::1
  ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 ::8.8.8.8 64:ff9b::8.8.8.8 64:ff9b:1::8.8.8.8
  2002:0808:0808::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:10.0.0.1
`;
const PUBLIC = `
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1 172.15.255.255
  172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
  2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450:4001::1 2600:1f18::1
`;
const METADATA = `
  169.254.169.254 169.254.169.123 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192
  fd00:ec2::254 fd00:ec2::23 fd20:ce::254 ::ffff:169.254.169.254 ::169.254.169.254 ::ffff:0:169.254.169.254
  64:ff9b::169.254.169.254 64:ff9b:1::169.254.169.254 64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1:a9:fe:a9fe::
  2002:a9fe:a9fe::1 2001:0:a9fe:a9fe:: 2001:0:1:1:0:0:5601:5601 2606:4700::5efe:169.254.169.254
`;
const list = (text: string): string[] => text.trim().split(/\s+/);

test('addresses that are not the public internet, of both families and in every disguise', (t) => {
  for (const text of list(SPECIAL)) t.false(isPublic(parseAddress(text)!), text);
});

test('public addresses, up to the edges of the special blocks', (t) => {
  for (const text of list(PUBLIC)) {
    t.true(isPublic(parseAddress(text)!), text);
    t.false(isMetadata(parseAddress(text)!), text);
  }
});

test('metadata addresses, also inside IPv6', (t) => {
  for (const text of list(METADATA)) {
    t.true(isMetadata(parseAddress(text)!), text);
    t.false(isPublic(parseAddress(text)!), text);
  }
});

test('only canonical text is an address', (t) => {
  for (const text of [
    '127.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    '1.2.3.4.5',
    '256.0.0.1',
    '[::1]',
    '',
    'a',
  ]) {
    t.is(parseAddress(text), undefined, text);
  }
  t.deepEqual(parseAddress('fe80::1%eth0'), parseAddress('fe80::1'));
});

test('blocks', (t) => {
  for (const text of [
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0/8',
    '::/129',
    'fe80::1%1/64',
    '/8',
    '10.0.0.0/8/8',
  ]) {
    t.is(parseRange(text), undefined, text);
  }
  const block = parseRange('10.32.0.0/11')!;
  t.true(within(parseAddress('10.63.255.255')!, block));
  t.false(within(parseAddress('10.64.0.0')!, block));
  t.false(within(parseAddress('::1')!, parseRange('0.0.0.0/0')!));
  t.true(within(parseAddress('1.2.3.4')!, parseRange('0.0.0.0/0')!));
});

test(':: and ::1 carry no IPv4 address', (t) => {
  t.deepEqual(embeddedV4(parseAddress('::')!), []);
  t.deepEqual(embeddedV4(parseAddress('::1')!), []);
  t.deepEqual(embeddedV4(parseAddress('::2')!), [[0, 0, 0, 2]]);
});
