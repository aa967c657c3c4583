// Vertex AI with a service account: the token is fetched for all calls at once, kept, and never shown.
import { generateKeyPairSync } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { importSPKI, jwtVerify } from 'jose';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, exchange, type JsonObject, startBench } from './runner.ts';

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PRIVATE = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const TOKEN = 'ya29.token-of-the-service-account';
const ANSWER = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
  modelVersion: 'gemini-2.5-flash',
};

let bench: Bench;
let google: http.Server;
const assertions: string[] = [];
const calls: http.IncomingMessage[] = [];
test.before(async () => {
  bench = await startBench();
  google = http.createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => {
      const body = Buffer.concat(pieces).toString('utf8');
      const answer = (status: number, json: object) =>
        res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
      if (req.url === '/refuses')
        return answer(400, { error: 'invalid_grant', error_description: `no: ${body}` });
      if (req.url?.startsWith('/token')) {
        assertions.push(new URLSearchParams(body).get('assertion') ?? '');
        return answer(200, { access_token: TOKEN, expires_in: 3600, token_type: 'Bearer' });
      }
      calls.push(req);
      return answer(200, ANSWER);
    });
  });
  await new Promise<void>((resolve) => google.listen(0, '127.0.0.1', resolve));
});
test.after.always(async () => {
  await bench?.close();
  google?.close();
});

const origin = (): string => `http://127.0.0.1:${(google.address() as AddressInfo).port}`;
const account = (different: JsonObject = {}): string =>
  JSON.stringify({
    type: 'service_account',
    project_id: 'project-of-the-account',
    private_key_id: 'key-1',
    private_key: PRIVATE,
    client_email: 'sluice@project-of-the-account.iam.gserviceaccount.com',
    token_uri: `${origin()}/token`,
    ...different,
  });
const ask = (json: string, more: Record<string, string | undefined> = {}) =>
  exchange(
    bench,
    {
      method: ChatService.method.createChatCompletion,
      body: { model: 'gemini-2.5-flash', messages: [{ role: 'user', content: 'Hi' }] },
      headers: {
        'x-gateway-provider': 'vertex-ai',
        'x-gateway-custom-host': origin(),
        'x-gateway-vertex-region': 'europe-west4',
        'x-gateway-vertex-service-account-json': json,
        authorization: undefined,
        ...more,
      },
    },
    'rest',
  );

/** What a refusal says. */
const bodyOf = ({ error }: Awaited<ReturnType<typeof ask>>): JsonObject =>
  error?.kind === 'rest' ? error.body : {};

test.serial('one exchange for calls that come together and for those after them', async (t) => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask(account())));
  answers.push(await ask(account()));
  for (const { status } of answers) t.is(status, 200);
  t.is(assertions.length, 1);
  const { payload, protectedHeader } = await jwtVerify(
    assertions[0] ?? '',
    await importSPKI(publicKey.export({ type: 'spki', format: 'pem' }) as string, 'RS256'),
    { audience: `${origin()}/token` },
  );
  t.is(protectedHeader.kid, 'key-1');
  t.is(payload.iss, 'sluice@project-of-the-account.iam.gserviceaccount.com');
  t.is(payload.scope, 'https://www.googleapis.com/auth/cloud-platform');
  t.is(calls.length, 9);
  for (const { headers, url } of calls) {
    t.is(headers.authorization, `Bearer ${TOKEN}`);
    t.is(
      url,
      '/v1/projects/project-of-the-account/locations/europe-west4/publishers/google/models/gemini-2.5-flash:generateContent',
    );
    t.false(JSON.stringify(headers).includes(WORKSPACE_KEY));
  }
  const log = bench.gateway.logLines.join('\n');
  for (const secret of [TOKEN, 'PRIVATE KEY', assertions[0] ?? '']) t.false(log.includes(secret));
});

test.serial('an access token as it is given', async (t) => {
  calls.length = 0;
  const { status } = await ask('', {
    'x-gateway-vertex-service-account-json': undefined,
    'x-gateway-vertex-project-id': 'p2',
    authorization: 'Bearer ya29.given',
  });
  t.is(status, 200);
  t.is(calls[0]?.headers.authorization, 'Bearer ya29.given');
  t.true(calls[0]?.url?.startsWith('/v1/projects/p2/locations/europe-west4/'));
});

const HEADER = 'x-gateway-vertex-service-account-json';
for (const [name, json, status, param, message] of [
  ['text that is no JSON', () => 'not json', 400, HEADER, /must be the JSON of a service account/],
  ['no private key', () => account({ private_key: null }), 400, HEADER, /must have private_key/],
  ['a broken private key', () => account({ private_key: 'x' }), 400, HEADER, /RSA key in PEM/],
  ['a token address that is none', () => account({ token_uri: 'file:///etc' }), 400, HEADER, /token_uri/],
  ['a grant that is refused', () => account({ token_uri: `${origin()}/refuses` }), 401, '', /invalid_grant/],
] as const)
  test.serial(`refused: ${name}`, async (t) => {
    calls.length = 0;
    const answer = await ask(json());
    const { error } = bodyOf(answer) as { error: { message: string; param: string | null } };
    t.is(answer.status, status);
    t.is(error.param ?? '', param);
    t.regex(error.message, message);
    t.notRegex(JSON.stringify(bodyOf(answer)), /PRIVATE KEY|assertion=/);
    t.is(calls.length, 0);
  });

test.serial('a region and a project are required, by the names of their headers', async (t) => {
  const withoutRegion = await ask(account(), {
    'x-gateway-vertex-region': undefined,
    'x-gateway-custom-host': undefined,
  });
  t.is(withoutRegion.status, 400);
  t.regex(JSON.stringify(bodyOf(withoutRegion)), /x-gateway-vertex-region: is required/);
  const withoutProject = await ask(account({ project_id: null }));
  t.is(withoutProject.status, 400);
  t.regex(JSON.stringify(bodyOf(withoutProject)), /x-gateway-vertex-project-id: is required/);
});
