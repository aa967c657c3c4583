// Bedrock through the front door: AWS's own library computes each request's signature anew, and writes the frames.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { framed } from '../providers/support/aws-frames.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, exchange, type JsonObject, type Outcome, startBench } from './runner.ts';

const ID = 'AKIDEXAMPLE';
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const SESSION = 'session/token+of==STS';
const ROLE = { id: 'ASIAROLE', secret: 'role-secret/+of-STS', session: 'role-session' };
const ANSWER = {
  output: { message: { role: 'assistant', content: [{ text: 'Hello' }] } },
  stopReason: 'end_turn',
  usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
};
const FRAMES = framed([
  ['messageStart', { role: 'assistant' }],
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello' } }],
  ['messageStop', { stopReason: 'end_turn' }],
  ['metadata', { usage: ANSWER.usage }],
]);

interface Sent {
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

let bench: Bench;
let aws: http.Server;
const sent: Sent[] = [];
const toSts: Sent[] = [];
test.before(async () => {
  aws = http.createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => {
      const one = { url: req.url ?? '', headers: req.headers, body: Buffer.concat(pieces) };
      if (one.url === '/') {
        toSts.push(one);
        const { id, secret, session } = ROLE;
        res
          .writeHead(one.body.includes('refused') ? 403 : 200, { 'content-type': 'text/xml' })
          .end(
            `<AssumeRoleResponse><Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>${session}</SessionToken><Expiration>${new Date(Date.now() + 3_600_000).toISOString()}</Expiration></Credentials></AssumeRoleResponse>`,
          );
        return;
      }
      sent.push(one);
      const streams = one.url.endsWith('/converse-stream');
      res
        .writeHead(200, {
          'content-type': streams ? 'application/vnd.amazon.eventstream' : 'application/json',
        })
        .end(streams ? FRAMES : JSON.stringify(ANSWER));
    });
  });
  await new Promise<void>((resolve) => aws.listen(0, '127.0.0.1', resolve));
  bench = await startBench({ AWS_ENDPOINT_URL_STS: origin() });
});
test.after.always(async () => {
  await bench?.close();
  aws?.close();
});

const origin = (): string => `http://127.0.0.1:${(aws.address() as AddressInfo).port}`;
const MODEL = 'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-v1:0';
const KEYS = { 'x-gateway-aws-access-key-id': ID, 'x-gateway-aws-secret-access-key': SECRET };

function ask(more: Record<string, string | undefined>, body: JsonObject = {}): Promise<Outcome> {
  sent.length = 0;
  return exchange(
    bench,
    {
      method: ChatService.method.createChatCompletion,
      body: { model: MODEL, messages: [{ role: 'user', content: 'Grüße & 👋' }], ...body },
      headers: {
        'x-gateway-provider': 'bedrock',
        'x-gateway-custom-host': origin(),
        'x-gateway-aws-region': 'eu-central-1',
        authorization: 'Bearer not-for-aws',
        ...more,
      },
    },
    'rest',
  );
}

const errorOf = ({ error }: Outcome): { message: string; param: string | null } =>
  (error?.kind === 'rest' ? error.body.error : {}) as never;

/** The signature that AWS's library makes of what was sent, for the headers that the request says are signed. */
async function signatureOf(
  { url, headers, body }: Sent,
  keys: { readonly id: string; readonly secret: string; readonly session?: string },
): Promise<string | undefined> {
  const names = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? [];
  const [, , region = '', service = ''] =
    /Credential=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split('/') ?? [];
  const signer = new SignatureV4({
    ...{ service, region, sha256: Sha256, applyChecksum: false },
    credentials: {
      accessKeyId: keys.id,
      secretAccessKey: keys.secret,
      ...(keys.session === undefined ? {} : { sessionToken: keys.session }),
    },
  });
  const { port } = new URL(origin());
  const date = String(headers['x-amz-date']);
  const iso = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  const anew = await signer.sign(
    {
      ...{ method: 'POST', protocol: 'http:', hostname: '127.0.0.1', port: Number(port), path: url, body },
      headers: Object.fromEntries(names.map((name) => [name, String(headers[name])])),
    },
    { signingDate: new Date(iso) },
  );
  return anew.headers.authorization;
}

for (const stream of [false, true])
  for (const session of [undefined, SESSION])
    test.serial(
      `signed${stream ? ', streamed' : ''}${session ? ', with a session token' : ''}`,
      async (t) => {
        const answer = await ask(
          { ...KEYS, 'x-gateway-aws-session-token': session },
          stream ? { stream } : {},
        );
        t.is(answer.error, undefined);
        t.is(answer.status, 200);
        const [one] = sent;
        t.is(sent.length, 1);
        t.is(one?.url, `/model/${encodeURIComponent(MODEL)}/${stream ? 'converse-stream' : 'converse'}`);
        t.regex(
          one!.headers.authorization ?? '',
          /\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=content-type;host;/,
        );
        t.is(one!.headers['x-amz-security-token'], session);
        const keys = { id: ID, secret: SECRET, ...(session === undefined ? {} : { session }) };
        t.is(one!.headers.authorization, await signatureOf(one!, keys));
        t.notRegex(JSON.stringify(one!.headers), new RegExp(`not-for-aws|${WORKSPACE_KEY}`));
        if (stream) t.true(answer.complete);
      },
    );

test.serial('a key alone is sent as it is', async (t) => {
  const answer = await ask({ 'x-gateway-aws-region': undefined, authorization: 'Bearer ABSK-bedrock-key' });
  t.is(answer.status, 200);
  t.is(sent[0]?.headers.authorization, 'Bearer ABSK-bedrock-key');
  t.is(sent[0]?.headers['x-amz-date'], undefined);
});

test.serial('a role is assumed once for calls that come together, and its keys sign', async (t) => {
  const role = {
    ...KEYS,
    'x-gateway-aws-auth-type': 'assumedRole',
    'x-gateway-aws-role-arn': 'arn:aws:iam::123456789012:role/models',
    'x-gateway-aws-external-id': 'ext-1',
  };
  toSts.length = 0;
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask(role)));
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  t.is(toSts.length, 1);
  t.is(toSts[0]!.headers.authorization, await signatureOf(toSts[0]!, { id: ID, secret: SECRET }));
  t.is(new URLSearchParams(toSts[0]!.body.toString()).get('ExternalId'), 'ext-1');
  for (const one of sent) t.is(one.headers.authorization, await signatureOf(one, ROLE));
  const log = bench.gateway.logLines.join('\n');
  for (const secret of [SECRET, ROLE.secret, ROLE.session]) t.false(log.includes(secret));
});

for (const [name, headers, status, param, message] of [
  [
    'half of a key',
    { 'x-gateway-aws-access-key-id': ID },
    400,
    'x-gateway-aws-secret-access-key',
    /is required/,
  ],
  [
    'no region',
    { ...KEYS, 'x-gateway-aws-region': undefined },
    400,
    'x-gateway-aws-region',
    /must be a region/,
  ],
  [
    'a region that is none',
    { ...KEYS, 'x-gateway-aws-region': 'x/y' },
    400,
    'x-gateway-aws-region',
    /region/,
  ],
  [
    'a role without its name',
    { ...KEYS, 'x-gateway-aws-auth-type': 'assumedRole' },
    400,
    'x-gateway-aws-role-arn',
    /is required/,
  ],
  [
    'the identity of the gateway',
    { 'x-gateway-aws-auth-type': 'serviceRole' },
    400,
    'x-gateway-aws-auth-type',
    /GATEWAY_SECRET_OWN_IDENTITY=bedrock/,
  ],
  [
    'a role that STS refuses',
    {
      ...KEYS,
      'x-gateway-aws-auth-type': 'assumedRole',
      'x-gateway-aws-role-arn': 'arn:aws:iam::1:role/refused',
    },
    403,
    '',
    /does not let the role be assumed/,
  ],
] as const)
  test.serial(`refused: ${name}`, async (t) => {
    const answer = await ask(headers);
    t.is(answer.status, status);
    t.is(errorOf(answer).param ?? '', param);
    t.regex(errorOf(answer).message, message);
    t.false(JSON.stringify(answer.error).includes(SECRET));
    t.is(sent.length, 0);
  });

test.serial('refused: no credential at all', async (t) => {
  const answer = await ask({ 'x-gateway-custom-host': undefined, authorization: undefined });
  t.is(answer.status, 400);
  t.regex(errorOf(answer).message, /bedrock needs a credential/);
});
