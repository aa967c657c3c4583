// Signatures for AWS: the published vectors, and canonical requests that are written out here.
import { createHmac, hash } from 'node:crypto';
import test from 'ava';
import { type SignOrder, signed } from '../../src/lib/aws-signature.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const ORDER: SignOrder = {
  method: 'GET',
  url: new URL('https://example.amazonaws.com/'),
  headers: {},
  body: '',
  region: 'us-east-1',
  service: 'service',
  credentials: KEYS,
  at: Date.UTC(2015, 7, 30, 12, 36, 0),
};

async function signatureOf(order: Partial<SignOrder>): Promise<string | undefined> {
  return /Signature=(\w+)$/.exec((await signed({ ...ORDER, ...order })).at(-1) ?? '')?.[1];
}

const VECTORS: readonly (readonly [string, string, Partial<SignOrder>, string])[] = [
  ['get-vanilla', '/', {}, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'get-vanilla-query-order-key-case',
    '/?Param2=value2&Param1=value1',
    {},
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'get-vanilla-query-unreserved',
    '/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
    {},
    '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197',
  ],
  [
    'post-vanilla',
    '/',
    { method: 'POST' },
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  ],
  [
    'ListUsers of IAM',
    'https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08',
    { service: 'iam', headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' } },
    '5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  ],
];
for (const [name, path, order, expected] of VECTORS)
  test(`AWS's own example: ${name}`, async (t) => {
    t.is(await signatureOf({ ...order, url: new URL(path, ORDER.url) }), expected);
  });

/** The signature of a canonical request that is given in full but for its body's hash. */
function ofCanonical(lines: readonly string[], body: string, service: string): string {
  const scope = `20150830/us-east-1/${service}/aws4_request`;
  const canonical = [...lines, hash('sha256', body, 'hex')].join('\n');
  const text = `AWS4-HMAC-SHA256\n20150830T123600Z\n${scope}\n${hash('sha256', canonical, 'hex')}`;
  let key: Buffer | string = `AWS4${KEYS.secretAccessKey}`;
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest();
  return createHmac('sha256', key).update(text).digest('hex');
}

const HOST = ['host:example.amazonaws.com', 'x-amz-date:20150830T123600Z'];

test("a model's path is escaped once more, and S3's is not", async (t) => {
  const url = new URL('/model/arn%3Aaws%3Abedrock%2Fm%20v1:0/converse', ORDER.url);
  const rest = ['', ...HOST, '', 'host;x-amz-date'];
  t.is(
    await signatureOf({ url, service: 'bedrock' }),
    ofCanonical(['GET', '/model/arn%253Aaws%253Abedrock%252Fm%2520v1%3A0/converse', ...rest], '', 'bedrock'),
  );
  t.is(await signatureOf({ url, service: 's3' }), ofCanonical(['GET', url.pathname, ...rest], '', 's3'));
});

test('a query has its names in order, each with all of its values, and a session token is signed', async (t) => {
  const url = new URL("/?b=2&a=z&a='(*)!&b=1&c=%20+&e", ORDER.url);
  const body = 'Grüße 👋';
  const lines = [
    'POST',
    '/',
    'a=%27%28%2A%29%21&a=z&b=1&b=2&c=%20%20&e=',
    'content-type:text/plain; charset=utf-8',
    ...HOST,
    'x-amz-security-token:session/+==',
    '',
    'content-type;host;x-amz-date;x-amz-security-token',
  ];
  const headers = { 'content-type': ' text/plain;  charset=utf-8 ' };
  const credentials = { ...KEYS, sessionToken: 'session/+==' };
  const expected = ofCanonical(lines, body, 'service');
  for (const bytes of [body, Buffer.from(body)])
    t.is(await signatureOf({ method: 'POST', url, headers, credentials, body: bytes }), expected);
});

test('a hash of the body that is given is signed in its place, and host is not sent', async (t) => {
  const headers = { 'x-amz-content-sha256': hash('sha256', 'other', 'hex') };
  const pairs = await signed({ ...ORDER, headers, body: 'body' });
  t.deepEqual(
    pairs.filter((_, i) => i % 2 === 0),
    ['x-amz-content-sha256', 'x-amz-date', 'authorization'],
  );
  const lines = [
    ...['GET', '/', '', HOST[0]!, `x-amz-content-sha256:${headers['x-amz-content-sha256']}`, HOST[1]!],
    ...['', 'host;x-amz-content-sha256;x-amz-date'],
  ];
  t.true(pairs.at(-1)?.endsWith(`Signature=${ofCanonical(lines, 'other', 'service')}`));
});
