import test from 'ava';
import { parseAddress } from '../../../src/lib/egress/address-rules.ts';
import { parseAllowList } from '../../../src/lib/egress/allow-list.ts';

test('names, suffixes, ports, literals and blocks', (t) => {
  const list = parseAllowList(
    ' Vllm, ollama.lan:11434,*.svc.cluster.local, 10.0.0.0/8,127.0.0.1:6379, [::1]:8080, ::2, [fd00::1], ,',
  );
  t.true(list.name('vllm', 80));
  t.true(list.name('ollama.lan', 11434));
  t.false(list.name('ollama.lan', 80));
  t.true(list.name('a.b.svc.cluster.local', 8000));
  t.false(list.name('svc.cluster.local', 80));
  t.false(list.name('evilsvc.cluster.local', 80));
  const open = (text: string, port: number): boolean => list.address(parseAddress(text)!, port);
  t.true(open('10.9.8.7', 1));
  t.true(open('127.0.0.1', 6379));
  t.false(open('127.0.0.1', 80));
  t.true(open('::1', 8080));
  t.false(open('::1', 80));
  t.true(open('::2', 80));
  t.true(open('fd00::1', 80));
  t.true(list.exactPort('127.0.0.1', 6379));
  t.false(list.exactPort('10.0.0.1', 6379));
  t.false(list.exactPort('vllm', 6379));
});

test('a bad item names itself', (t) => {
  for (const item of [
    'http://a.example.com',
    'a b',
    'host:0',
    'host:65536',
    'host:x',
    '10.0.0.0/33',
    '10.0.0.0/8:80',
    '10.0.0',
    '256.1.1.1',
    '[::1',
    '[host]:80',
    '.suffix',
    'a..b',
    'host.',
    '*',
    'xn--80ak6aa92e.com',
    '0x7f.1%',
    '[127.0.0.1]',
  ]) {
    const error = t.throws(() => parseAllowList(`good.example.com,${item}`), undefined, item);
    t.true(error?.message.includes(`"${item}"`), error?.message);
  }
});

test('what hands out credentials cannot be opened', (t) => {
  for (const item of [
    '169.254.169.254',
    '[fd00:ec2::254]:80',
    '100.100.100.200:80',
    'metadata.google.internal',
    '*.nip.io',
    'localtest.me',
  ]) {
    t.throws(() => parseAllowList(item), { message: /cannot open/ }, item);
  }
});
