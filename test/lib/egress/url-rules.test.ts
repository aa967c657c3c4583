import test from 'ava';
import fc from 'fast-check';
import { NOTHING_ALLOWED, parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import { createDialer } from '../../../src/lib/egress/dialer.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { call, dialer, refusedWith } from './upstreams.ts';

const strict = createDialer({ allow: NOTHING_ALLOWED });

function refuses(url: string, of = strict): boolean {
  try {
    of.check(url, 'custom_host');
    return false;
  } catch (error) {
    if (
      error instanceof GatewayError &&
      error.reason === 'host_refused' &&
      error.details.param === 'custom_host'
    )
      return true;
    throw error;
  }
}

const table = (name: string, urls: readonly string[]): void => {
  test(name, (t) => {
    for (const url of urls) t.true(refuses(url), url);
  });
};

test('public hosts pass', (t) => {
  for (const url of [
    'https://api.openai.com',
    'https://api.openai.com/v1/chat?x=1%20',
    'http://example.com:8080/',
    'HTTPS://API.Example.COM',
    'https://1.1.1.1/v1',
    'https://[2606:4700:4700::1111]/',
    'https://[2606:4700:4700::1111]:8443',
    'https://my_host.example.com',
    'https://vault.example.com:8200',
    'https://a-b.c-d.example.co.uk:443',
  ]) {
    t.false(refuses(url), url);
  }
});

table('CVE-2025-66405: SSRF through a custom host, private and local addresses', [
  'http://127.0.0.1',
  'http://127.1.2.3:8080/x',
  'http://10.0.0.1',
  'http://172.16.0.1',
  'http://192.168.1.1',
  'http://0.0.0.0',
  'http://100.64.0.1',
  'http://169.254.1.1',
  'http://224.0.0.1',
  'http://255.255.255.255',
  'http://[::1]',
  'http://[::]',
  'http://[fe80::1]',
  'http://[fd00::1]',
  'http://[ff02::1]',
]);

table('CVE-2025-66405: SSRF through a custom host, cloud metadata', [
  'http://169.254.169.254/latest/meta-data',
  'http://169.254.170.2',
  'http://169.254.170.23',
  'http://100.100.100.200',
  'http://168.63.129.16',
  'http://192.0.0.192',
  'http://[fd00:ec2::254]',
  'http://metadata.google.internal',
  'http://x.metadata.google.internal',
  'http://METADATA.google.internal',
  'http://metadata',
  'http://instance-data',
]);

table('CVE-2025-66405: SSRF through a custom host, IPv4 written in other ways', [
  'http://2130706433',
  'http://0x7f000001',
  'http://017700000001',
  'http://127.1',
  'http://127.0.1',
  'http://0177.0.0.1',
  'http://0x7f.0.0.1',
  'http://127.0.0.01',
  'http://0',
  'http://134744072',
  'http://8.8.2056',
  'http://010.8.8.8',
  'http://１２７.0.0.1',
  'http://127。0。0。1',
  'http://①②⑦.0.0.1',
  'http://127.0.0.1.',
  'http://256.1.1.1',
  'http://1.2.3.4.5',
]);

table('CVE-2025-66405: SSRF through a custom host, IPv4 inside IPv6', [
  'http://[::ffff:127.0.0.1]',
  'http://[::ffff:7f00:1]',
  'http://[0:0:0:0:0:ffff:127.0.0.1]',
  'http://[::127.0.0.1]',
  'http://[::ffff:0:127.0.0.1]',
  'http://[64:ff9b::127.0.0.1]',
  'http://[64:ff9b:1::127.0.0.1]',
  'http://[2002:7f00:1::]',
  'http://[2001:0:7f00:1::]',
  'http://[::ffff:169.254.169.254]',
  'http://[::ffff:8.8.8.8]',
]);

table('CVE-2025-66405: SSRF through a custom host, names of inside networks', [
  'http://localhost',
  'http://LOCALHOST:80',
  'http://a.localhost',
  'http://printer.local',
  'http://x.localdomain',
  'http://x.internal',
  'http://x.intranet',
  'http://x.lan',
  'http://x.home',
  'http://x.corp',
  'http://x.test',
  'http://x.invalid',
  'http://x.onion',
  'http://redis',
  'http://kubernetes.default.svc',
  'http://a.svc.cluster.local',
  'http://x.service.consul',
  'http://router.home.arpa',
]);

table('rebinding: wildcard DNS services', [
  'http://127.0.0.1.nip.io',
  'http://10-0-0-1.sslip.io',
  'http://a.xip.io',
  'http://localtest.me',
  'http://a.b.lvh.me',
  'http://7f000001.c0a80001.rbndr.us',
  'http://make-1.2.3.4-rebind-10.0.0.1-rr.1u.ms',
]);

table('PK#1596: characters that move the host', [
  'https://evil.example.com#.openai.azure.com',
  'https://api.openai.com/#x',
  'https://user:pw@example.com',
  'https://example.com@evil.com',
  'https://@example.com',
  'https://example.com\\@evil.com',
  'https:\\\\example.com',
  'https://exam\nple.com',
  ' https://example.com',
  'https://example.com ',
  'https://example.com/\u0000',
  'https://example.com/\u0085',
  'https://ex%61mple.com',
  'https://example.com%00',
  'https://xn--80ak6aa92e.com',
  'https://аpple.com',
  'https://example.com.',
  'https://a..example.com',
  'https://.example.com',
  'https://example.com:',
  'https://example.com:0',
  'https://example.com:080',
  'https://example.com:65536',
  'https://example.com:x',
  'https://[::1',
  'https://::1',
  'https://[fe80::1%25eth0]',
  'https://[1.2.3.4]',
  'https://',
  'https:///x',
  '//example.com',
  'example.com',
  '',
  'ftp://example.com',
  'file:///etc/passwd',
  'gopher://example.com',
  'data:,x',
  'https:example.com',
  `https://example.com/${'a'.repeat(2048)}`,
  `https://${'a'.repeat(64)}.com`,
]);

table(
  'ports of services that do not speak HTTP',
  [
    ...[
      22, 25, 53, 110, 143, 445, 465, 587, 993, 995, 1433, 1521, 2049, 2375, 2379, 2380, 3306, 3389, 5432,
      5672, 5900,
    ].map(String),
    ...[6379, 6443, 8086, 9042, 9200, 9300, 10250, 11211, 27017].map(String),
  ].map((port) => `http://example.com:${port}`),
);

test('the allow list opens names, addresses and ports, and metadata never', (t) => {
  const allow = parseAllowList(
    'localhost,*.svc.cluster.local,10.0.0.0/8,redis.lan:6379,0.0.0.0/0,::/0,vllm:8000',
  );
  const open = createDialer({ allow });
  for (const url of [
    'http://localhost:3000',
    'http://a.b.svc.cluster.local',
    'http://10.1.1.1',
    'http://redis.lan:6379',
    'http://[::1]:90',
    'http://vllm:8000',
    'http://[::ffff:127.0.0.1]',
    'http://127.0.0.1',
  ]) {
    t.false(refuses(url, open), url);
  }
  for (const url of [
    'http://localhost:6379',
    'http://10.1.1.1:22',
    'http://redis.lan',
    'http://vllm',
    'http://169.254.169.254',
    'http://[fd00:ec2::254]',
    'http://[::ffff:169.254.169.254]',
    'http://100.100.100.200',
    'http://metadata.google.internal',
    'http://127.0.0.1.nip.io',
    'http://2130706433',
  ]) {
    t.true(refuses(url, open), url);
  }
  // The disguise alone is not enough: the address inside must be open too.
  t.true(refuses('http://[::ffff:127.0.0.1]', createDialer({ allow: parseAllowList('::ffff:0:0/96') })));
  t.false(refuses('http://[64:ff9b::8.8.8.8]', createDialer({ allow: parseAllowList('64:ff9b::/96') })));
});

test('a call takes an origin and nothing more, and a path that begins with a slash', async (t) => {
  const out = dialer(t);
  for (const origin of [
    'http://127.0.0.1/',
    'http://127.0.0.1?x',
    'http://evil.example.com/.openai.azure.com',
    'http://127.0.0.1#',
  ]) {
    const error = await refusedWith(t, 'host_refused', out.whole(call(origin), 10));
    t.is(error.details.param, 'origin');
  }
  for (const path of ['', 'x', 'http://example.com/', '*']) {
    await refusedWith(t, 'validation_failed', out.whole(call('http://127.0.0.1:1', { path }), 10));
  }
});

const octet = fc.integer({ min: 0, max: 255 });
const forms = (a: number, b: number, c: number, d: number): string[] => {
  const whole = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (n: number): string => `0x${n.toString(16)}`;
  const oct = (n: number): string => `0${n.toString(8)}`;
  const two = (n: number): string => n.toString(16).padStart(2, '0');
  const v4 = `${a}.${b}.${c}.${d}`;
  const groups = `${two(a)}${two(b)}:${two(c)}${two(d)}`;
  return [
    v4,
    `${v4}.`,
    String(whole),
    hex(whole),
    hex(whole).toUpperCase(),
    oct(whole),
    `${hex(a)}.${b}.${c}.${d}`,
    `${a}.${b}.${c}.${oct(d)}`,
    [a, b, c, d].map(hex).join('.'),
    [a, b, c, d].map(oct).join('.'),
    `${a}.${b * 65_536 + c * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    `${v4.replaceAll('.', '%2e')}`,
    v4.replaceAll('.', '。'),
    `[::ffff:${v4}]`,
    `[::ffff:${groups}]`,
    `[::${v4}]`,
    `[::ffff:0:${v4}]`,
    `[64:ff9b::${v4}]`,
    `[64:ff9b:1::${v4}]`,
    `[2002:${groups}::]`,
  ];
};

test('an IPv4 address is judged as its canonical form, or refused, however it is written', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(octet, octet, octet, octet, (a, b, c, d) => {
        const canonical = refuses(`http://${a}.${b}.${c}.${d}/`);
        for (const form of forms(a, b, c, d)) {
          const verdict = refuses(`http://${form}/`);
          if (canonical && !verdict) throw new Error(form);
        }
      }),
      { numRuns: 300 },
    ),
  );
});

test('a refusal names the entry that opens the host; with it, the host passes', (t) => {
  for (const [url, entry] of [
    ['http://127.0.0.1:11434/v1', '127.0.0.1:11434'],
    ['https://10.0.0.1', '10.0.0.1:443'],
    ['http://[::1]:8000', '[::1]:8000'],
    ['http://[::ffff:10.0.0.1]:8000', '[::ffff:10.0.0.1]:8000,10.0.0.1:8000'],
    ['http://localhost:1234', 'localhost:1234'],
    ['https://models.internal', 'models.internal:443'],
    ['http://example.com:6379', 'example.com:6379'],
  ] as const) {
    const { message } = t.throws(() => strict.check(url, 'custom_host'), { instanceOf: GatewayError });
    t.true(message.includes(`adds ${entry} to GATEWAY_EGRESS_ALLOW`), message);
    t.notThrows(() => createDialer({ allow: parseAllowList(entry) }).check(url, 'custom_host'), entry);
  }
  for (const never of ['http://169.254.169.254', 'http://metadata.google.internal', 'ftp://example.com']) {
    const { message } = t.throws(() => strict.check(never, 'custom_host'), { instanceOf: GatewayError });
    t.false(message.includes('GATEWAY_EGRESS_ALLOW'), message);
  }
});
