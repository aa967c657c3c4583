// Vertex AI by workload identity federation: a token of another provider of identities for Google's, and that for a
// service account's. Google's hosts are answered on this machine, by their names and over TLS.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Internet, startInternet } from '../support/internet.ts';

interface Asked {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

const SUBJECT = 'eyJ.subject-token-of-the-cluster';
const FEDERATED = 'ya29.federated-token';
const IMPERSONATED = 'ya29.token-of-the-service-account';
const AUDIENCE = '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q';
const AWS_SECRET = 'wJalrXUtnFEMI-secret-of-the-process';
const ANSWER = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1, totalTokenCount: 4 },
};
const IMPERSONATION =
  'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/s@p.iam.gserviceaccount.com:generateAccessToken';

const asked: Asked[] = [];
let internet: Internet;
let gateway: TestGateway;
let closed: TestGateway;
let folder: string;
test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-federation-'));
  await writeFile(join(folder, 'token'), `${SUBJECT}\n`);
  await writeFile(join(folder, 'own.json'), JSON.stringify(external({ file: join(folder, 'token') })));
  internet = await startInternet({
    'sts.googleapis.com': answered((path, body) => {
      if (!body.includes('token-exchange') || path !== '/v1/token') return [404, {}];
      if (body.includes('refused')) return [400, { error: 'invalid_grant', error_description: body }];
      return [200, { access_token: FEDERATED, token_type: 'Bearer', expires_in: 3600 }];
    }),
    'iamcredentials.googleapis.com': answered(() => [
      200,
      { accessToken: IMPERSONATED, expireTime: new Date(Date.now() + 3_600_000).toISOString() },
    ]),
    'tokens.federation-test.com': answered((path) =>
      path === '/text' ? [200, SUBJECT] : [200, { id_token: SUBJECT }],
    ),
    'us-central1-aiplatform.googleapis.com': answered(() => [200, ANSWER]),
    'sts.evil-federation-test.com': answered(() => [200, { access_token: FEDERATED }]),
  });
  gateway = await startGateway({
    ...internet.env,
    GATEWAY_SECRET_OWN_IDENTITY: 'vertex',
    GATEWAY_SECRET_FILE_ALLOW: folder,
    GOOGLE_APPLICATION_CREDENTIALS: join(folder, 'own.json'),
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: AWS_SECRET,
    AWS_REGION: 'eu-west-1',
  });
  closed = await startGateway(internet.env);
});
test.beforeEach(() => void asked.splice(0));
test.after('nothing secret is in the log', (t) => {
  const log = gateway.logLines.join('\n');
  for (const secret of [SUBJECT, FEDERATED, IMPERSONATED, AWS_SECRET]) t.false(log.includes(secret), secret);
});
test.after.always(async () => {
  await gateway?.close();
  await closed?.close();
  await internet?.close();
  await rm(folder, { recursive: true, force: true });
});

function answered(reply: (path: string, body: string) => [number, object | string]): http.RequestListener {
  return async (req, res) => {
    let body = '';
    for await (const piece of req) body += String(piece);
    const { method = '', url = '', headers } = req;
    asked.push({ host: headers.host ?? '', method, path: url, headers, body });
    const [status, json] = reply(url, body);
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(typeof json === 'string' ? json : JSON.stringify(json));
  };
}

function external(source: object, more: object = {}): object {
  return {
    type: 'external_account',
    audience: AUDIENCE,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: 'https://sts.googleapis.com/v1/token',
    credential_source: source,
    ...more,
  };
}

const CHAT = { model: 'gemini-2.5-flash', messages: [{ role: 'user', content: 'Hi' }] };

async function chat(headers: Record<string, string>, at: TestGateway = gateway) {
  const answer = await fetch(`${at.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': WORKSPACE_KEY, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(CHAT),
  });
  return { status: answer.status, text: await answer.text() };
}

/** A call that brings the JSON itself. */
function given(json: object, at?: TestGateway) {
  return chat(
    {
      'x-gateway-provider': 'vertex-ai',
      'x-gateway-vertex-region': 'us-central1',
      'x-gateway-vertex-project-id': 'project-1',
      'x-gateway-vertex-service-account-json': JSON.stringify(json),
    },
    at,
  );
}

/** A call of a stored provider with these options. */
async function stored(configurations: object, at: TestGateway = gateway) {
  const admin = (path: string, method: string, body: object) =>
    fetch(at.origin + path, {
      method,
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then(async (answer) => ({ status: answer.status, text: await answer.text() }));
  const slug = `vertex-${Math.random().toString(36).slice(2)}`;
  const made = await admin('/v1/integrations', 'POST', {
    name: slug,
    slug,
    ai_provider_id: 'vertex-ai',
    configurations: { vertex_region: 'us-central1', vertex_project_id: 'project-1', ...configurations },
  });
  if (made.status !== 200) return made;
  await admin(`/v1/integrations/${slug}/workspaces`, 'PUT', {
    workspaces: [{ id: 'default', enabled: true }],
  });
  return chat({ 'x-gateway-provider': `@${slug}` }, at);
}

const to = (host: string): readonly Asked[] => asked.filter((one) => one.host === host);
const formOf = (one: Asked | undefined) => new URLSearchParams(one?.body);
const sentWith = (): unknown => to('us-central1-aiplatform.googleapis.com')[0]?.headers.authorization;

test.serial(
  'a token from an address, as text and in JSON, exchanged once for calls that come together',
  async (t) => {
    const json = external({ url: 'https://tokens.federation-test.com/text', headers: { 'X-Own': 'yes' } });
    const all = await Promise.all(Array.from({ length: 5 }, () => given(json)));
    for (const { status, text } of all) t.is(status, 200, text);
    t.is(to('tokens.federation-test.com').length, 1);
    t.is(to('tokens.federation-test.com')[0]?.method, 'GET');
    t.is(to('tokens.federation-test.com')[0]?.headers['x-own'], 'yes');
    t.is(to('sts.googleapis.com').length, 1);
    t.deepEqual(Object.fromEntries(formOf(to('sts.googleapis.com')[0])), {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: AUDIENCE,
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      subject_token: SUBJECT,
    });
    t.is(sentWith(), `Bearer ${FEDERATED}`);
    const format = { type: 'json', subject_token_field_name: 'id_token' };
    const other = await given(external({ url: 'https://tokens.federation-test.com/json', format }));
    t.is(other.status, 200, other.text);
    t.is(formOf(to('sts.googleapis.com')[1]).get('subject_token'), SUBJECT);
  },
);

test.serial('a service account is impersonated for as long as is said', async (t) => {
  const json = external(
    { url: 'https://tokens.federation-test.com/text' },
    {
      service_account_impersonation_url: IMPERSONATION,
      service_account_impersonation: { token_lifetime_seconds: 900 },
      quota_project_id: 'quota-1',
    },
  );
  const { status, text } = await given(json);
  t.is(status, 200, text);
  const [one] = to('iamcredentials.googleapis.com');
  t.is(one?.headers.authorization, `Bearer ${FEDERATED}`);
  t.deepEqual(JSON.parse(one?.body ?? ''), {
    scope: ['https://www.googleapis.com/auth/cloud-platform'],
    lifetime: '900s',
  });
  t.is(sentWith(), `Bearer ${IMPERSONATED}`);
  t.is(to('us-central1-aiplatform.googleapis.com')[0]?.headers['x-goog-user-project'], 'quota-1');
});

test.serial('a file of the process, for a stored provider where the operator opened it', async (t) => {
  const json = external({ file: join(folder, 'token') });
  const { status, text } = await stored({ vertex_auth_type: 'workload', vertex_service_account_json: json });
  t.is(status, 200, text);
  t.is(formOf(to('sts.googleapis.com')[0]).get('subject_token'), SUBJECT);
  t.is(sentWith(), `Bearer ${FEDERATED}`);
});

test.serial('the process’s identity at AWS is a signed question that Google asks', async (t) => {
  const json = external(
    {
      environment_id: 'aws1',
      region_url: 'http://169.254.169.254/latest/meta-data/placement/availability-zone',
      url: 'http://169.254.169.254/latest/meta-data/iam/security-credentials',
      regional_cred_verification_url:
        'https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15',
    },
    { subject_token_type: 'urn:ietf:params:aws:token-type:aws4_request' },
  );
  const { status, text } = await stored({
    vertex_auth_type: 'serviceAccount',
    vertex_service_account_json: json,
  });
  t.is(status, 200, text);
  const token = formOf(to('sts.googleapis.com')[0]).get('subject_token') ?? '';
  const question = JSON.parse(decodeURIComponent(token)) as {
    url: string;
    method: string;
    headers: { key: string; value: string }[];
  };
  t.is(question.method, 'POST');
  t.is(question.url, 'https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15');
  const header = (name: string) => question.headers.find(({ key }) => key === name)?.value;
  t.is(header('x-goog-cloud-target-resource'), AUDIENCE);
  t.is(header('host'), 'sts.eu-west-1.amazonaws.com');
  t.regex(header('x-amz-date') ?? '', /^\d{8}T\d{6}Z$/);
  t.regex(
    header('Authorization') ?? '',
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/sts\/aws4_request, SignedHeaders=host;x-amz-date;x-goog-cloud-target-resource, Signature=[0-9a-f]{64}$/,
  );
  t.false([...internet.connected].some((host) => host.startsWith('169.')));
});

test.serial('workload without JSON uses the credentials of the environment', async (t) => {
  const { status, text } = await stored({ vertex_auth_type: 'workload' });
  t.is(status, 200, text);
  t.is(formOf(to('sts.googleapis.com')[0]).get('subject_token'), SUBJECT);
  const shut = await stored({ vertex_auth_type: 'workload' }, closed);
  t.is(shut.status, 400);
  t.regex(shut.text, /GATEWAY_SECRET_OWN_IDENTITY=vertex/);
});

const FILE = { file: '/etc/passwd' };
for (const [name, run, status, message] of [
  ['a file that a header names', () => given(external(FILE)), 400, /stored providers only/],
  [
    'a file where it is not opened',
    () => stored({ vertex_service_account_json: external(FILE), vertex_auth_type: 'serviceAccount' }, closed),
    400,
    /GATEWAY_SECRET_OWN_IDENTITY=vertex/,
  ],
  [
    'a file outside of the listed folders',
    () => stored({ vertex_service_account_json: external(FILE), vertex_auth_type: 'serviceAccount' }),
    400,
    /GATEWAY_SECRET_FILE_ALLOW/,
  ],
  [
    'a file’s token to another host',
    () =>
      stored({
        vertex_auth_type: 'serviceAccount',
        vertex_service_account_json: external(
          { file: join(folder, 'token') },
          { token_url: 'https://sts.evil-federation-test.com/v1/token' },
        ),
      }),
    400,
    /token_url must be an address of Google/,
  ],
  [
    'a file’s token to a host that begins like Google’s',
    () =>
      stored({
        vertex_auth_type: 'serviceAccount',
        vertex_service_account_json: external(
          { file: join(folder, 'token') },
          { token_url: 'https://sts.googleapis.com.evil-federation-test.com/v1/token' },
        ),
      }),
    400,
    /token_url/,
  ],
  [
    'a signature for another question',
    () =>
      given(
        external({
          environment_id: 'aws1',
          regional_cred_verification_url:
            'https://sts.{region}.amazonaws.com?Action=AssumeRole&Version=2011-06-15',
        }),
      ),
    400,
    /regional_cred_verification_url/,
  ],
  ['a command', () => given(external({ executable: { command: '/bin/sh' } })), 400, /commands are never run/],
  [
    'a metadata service',
    () => given(external({ url: 'http://169.254.169.254/token' })),
    400,
    /cloud metadata service/,
  ],
  [
    'a header that the connection sends',
    () => given(external({ url: 'https://tokens.federation-test.com/text', headers: { Host: 'x' } })),
    400,
    /credential_source\.headers/,
  ],
  [
    'no audience',
    () => given(external({ url: 'https://tokens.federation-test.com/text' }, { audience: null })),
    400,
    /must have audience/,
  ],
  [
    'a life without end',
    () =>
      given(
        external(
          { url: 'https://tokens.federation-test.com/text' },
          {
            service_account_impersonation_url: IMPERSONATION,
            service_account_impersonation: { token_lifetime_seconds: 1e9 },
          },
        ),
      ),
    400,
    /token_lifetime_seconds/,
  ],
  [
    'an exchange that is refused',
    () => given(external({ url: 'https://tokens.federation-test.com/text' }, { audience: 'refused' })),
    401,
    /invalid_grant/,
  ],
] as const)
  test.serial(`refused: ${name}`, async (t) => {
    const answer = await run();
    t.is(answer.status, status, answer.text);
    t.regex(answer.text, message);
    for (const secret of [SUBJECT, FEDERATED, 'root:']) t.false(answer.text.includes(secret));
    t.is(to('us-central1-aiplatform.googleapis.com').length, 0);
    t.is(to('sts.evil-federation-test.com').length, 0);
  });
