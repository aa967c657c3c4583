// Entra's tokens, Oracle's signatures and SageMaker's through the front door: each is checked as the cloud would.
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import test from 'ava';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = privateKey.export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase: 'open',
}) as string;
const SECRET = 'entra-secret-0123456789';
const TOKEN = 'eyJ.token-of-entra';
const AWS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

let gateway: TestGateway;
let cloud: http.Server;
const sent: Sent[] = [];
const logins: URLSearchParams[] = [];
test.before(async () => {
  cloud = http.createServer(async (req, res) => {
    const pieces: Buffer[] = [];
    for await (const piece of req as AsyncIterable<Buffer>) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const answer = (status: number, json: object) =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    if (req.url?.endsWith('/oauth2/v2.0/token')) {
      const form = new URLSearchParams(body.toString());
      logins.push(form);
      if (req.url.startsWith('/refused/'))
        return answer(401, { error: 'invalid_client', error_description: SECRET });
      return answer(200, { access_token: TOKEN, expires_in: 3600 });
    }
    sent.push({ method: req.method ?? '', url: req.url ?? '', headers: req.headers, body });
    const text = {
      choices: [{ index: 0, message: { role: 'ASSISTANT', content: [{ type: 'TEXT', text: 'Hi' }] } }],
    };
    if (req.url?.includes('/actions/chat')) return answer(200, { chatResponse: text });
    return answer(200, {
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    });
  });
  await new Promise<void>((resolve) => cloud.listen(0, '127.0.0.1', resolve));
  gateway = await startGateway({ AZURE_AUTHORITY_HOST: origin() });
});
test.after('no secret is in the log', (t) => {
  for (const secret of [SECRET, TOKEN, AWS.secretAccessKey, 'PRIVATE KEY'])
    t.false(
      gateway.logLines.some((line) => line.includes(secret)),
      secret,
    );
});
test.after.always(async () => {
  await gateway?.close();
  cloud?.close();
});

const origin = (): string => `http://127.0.0.1:${(cloud.address() as AddressInfo).port}`;

async function call(
  provider: string,
  headers: Readonly<Record<string, string>>,
  path = '/v1/chat/completions',
  body: object = CHAT,
): Promise<{ status: number; text: string; sent: readonly Sent[] }> {
  sent.length = 0;
  const answer = await fetch(gateway.origin + path, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': provider,
      'x-gateway-custom-host': origin(),
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text(), sent: [...sent] };
}

const entra = (tenant: string) => ({
  'x-gateway-azure-auth-mode': 'entra',
  'x-gateway-azure-entra-tenant-id': tenant,
  'x-gateway-azure-entra-client-id': 'client-1',
  'x-gateway-azure-entra-client-secret': SECRET,
});

test.serial('an application’s token is fetched once and takes the place of a key', async (t) => {
  logins.length = 0;
  const all = await Promise.all(Array.from({ length: 5 }, () => call('azure-ai', entra('tenant-1'))));
  t.deepEqual(
    all.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  t.is(logins.length, 1);
  t.deepEqual(Object.fromEntries(logins[0]!), {
    grant_type: 'client_credentials',
    client_id: 'client-1',
    client_secret: SECRET,
    scope: 'https://cognitiveservices.azure.com/.default',
  });
  for (const one of sent) t.is(one.headers.authorization, `Bearer ${TOKEN}`);
  const scoped = await call('azure-ai', {
    ...entra('tenant-1'),
    'x-gateway-azure-entra-scope': 'https://ai.azure.com/.default',
  });
  t.is(scoped.status, 200);
  t.is(logins.at(-1)?.get('scope'), 'https://ai.azure.com/.default');
});

test.serial('a refused application is a 401 that repeats nothing of it', async (t) => {
  const { status, text, sent: none } = await call('azure-ai', entra('refused'));
  t.is(status, 401);
  t.regex(text, /Entra/);
  t.false(text.includes(SECRET));
  t.is(none.length, 0);
});

test.serial('members of an application that are missing are named', async (t) => {
  const { 'x-gateway-azure-entra-client-secret': _, ...rest } = entra('tenant-1');
  const { status, text } = await call('azure-ai', rest);
  t.is(status, 400);
  t.regex(text, /azure-entra-client-secret/);
});

test.serial('the gateway’s own identity is for stored providers where the operator opened it', async (t) => {
  const { status, text } = await call('azure-ai', { 'x-gateway-azure-auth-mode': 'managed' });
  t.is(status, 400);
  t.regex(text, /GATEWAY_SECRET_OWN_IDENTITY=azure/);
});

test.serial('a token that the caller has goes out as it is, and a key as a bearer token', async (t) => {
  const token = await call('azure-ai', {
    'x-gateway-azure-ad-token': 'own.token',
    authorization: 'Bearer key-1',
  });
  t.is(token.sent[0]?.headers.authorization, 'Bearer own.token');
  const key = await call('azure-ai', { authorization: 'Bearer key-1' });
  t.is(key.sent[0]?.headers.authorization, 'Bearer key-1');
  t.is(key.sent[0]?.headers['extra-parameters'], 'drop');
});

const oracle = (more: Readonly<Record<string, string>> = {}) => ({
  'x-gateway-oracle-region': 'us-chicago-1',
  'x-gateway-oracle-tenancy': 'ocid1.tenancy.oc1..t',
  'x-gateway-oracle-user': 'ocid1.user.oc1..u',
  'x-gateway-oracle-fingerprint': '20:3b:97',
  'x-gateway-oracle-private-key': PEM.replaceAll('\n', '\\n'),
  'x-gateway-oracle-key-passphrase': 'open',
  ...more,
});

test.serial('a request to Oracle is signed over its body', async (t) => {
  const {
    status,
    sent: [one],
  } = await call('oracle', oracle(), undefined, { ...CHAT, model: 'meta.llama-3.3-70b-instruct' });
  t.is(status, 200);
  const { headers, body, url, method } = one!;
  const digest = createHash('sha256').update(body).digest('base64');
  t.is(headers['x-content-sha256'], digest);
  const field = (name: string) =>
    new RegExp(`${name}="([^"]+)"`).exec(headers.authorization ?? '')?.[1] ?? '';
  t.is(field('keyId'), 'ocid1.tenancy.oc1..t/ocid1.user.oc1..u/20:3b:97');
  const values: Readonly<Record<string, string | undefined>> = {
    ...(headers as Record<string, string>),
    '(request-target)': `${method.toLowerCase()} ${url}`,
  };
  const names = field('headers').split(' ');
  t.deepEqual(names, [
    'date',
    '(request-target)',
    'host',
    'content-length',
    'content-type',
    'x-content-sha256',
  ]);
  const text = names.map((name) => `${name}: ${values[name]}`).join('\n');
  t.true(
    verify(
      'sha256',
      Buffer.from(text),
      createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })),
      Buffer.from(field('signature'), 'base64'),
    ),
  );
});

test.serial('what is wrong with Oracle’s options is named, and the key is not repeated', async (t) => {
  const broken = await call('oracle', oracle({ 'x-gateway-oracle-key-passphrase': 'wrong' }));
  t.is(broken.status, 400);
  t.regex(broken.text, /oracle-private-key/);
  t.false(broken.text.includes(PEM.slice(60, 90)));
  const none = await call('oracle', oracle({ 'x-gateway-oracle-fingerprint': 'a"b' }));
  t.is(none.status, 400);
  t.regex(none.text, /oracle-fingerprint/);
});

test.serial('a path of SageMaker is passed through with a signature of its own service', async (t) => {
  const headers = {
    'x-gateway-aws-region': 'eu-west-1',
    'x-gateway-aws-access-key-id': AWS.accessKeyId,
    'x-gateway-aws-secret-access-key': AWS.secretAccessKey,
    'x-gateway-amzn-sagemaker-target-model': 'model-7',
  };
  const {
    status,
    sent: [one],
  } = await call('sagemaker', headers, '/v1/endpoints/mine/invocations', { inputs: 'x' });
  t.is(status, 200);
  const { url, body } = one!;
  t.is(url, '/endpoints/mine/invocations');
  t.is(one?.headers['x-amzn-sagemaker-target-model'], 'model-7');
  const signer = new SignatureV4({
    service: 'sagemaker',
    region: 'eu-west-1',
    credentials: AWS,
    sha256: Sha256,
    applyChecksum: false,
  });
  const time = String(one?.headers['x-amz-date']);
  const at = new Date(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  const { host } = new URL(origin());
  const again = await signer.sign(
    {
      method: 'POST',
      protocol: 'http:',
      hostname: '127.0.0.1',
      path: url,
      headers: { host, 'content-type': 'application/json', 'x-amz-date': time },
      body,
    },
    { signingDate: at },
  );
  const signature = (text: string | undefined) => /Signature=([0-9a-f]{64})/.exec(text ?? '')?.[1];
  t.is(signature(one?.headers.authorization), signature(again.headers.authorization));
});
