// Alerts about budgets through the front door: who is told, how it is signed, when it is told again.
import test from 'ava';
import { signatureOf } from '../../../src/ledger/alerts/webhook.ts';
import { type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../../support/gateway.ts';
import { type Json, type LimitsClient, limitsClient, until } from '../../support/limits-client.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { type Received, startWebhookReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';

let gateway: TestGateway;
let provider: FakeProvider;
let client: LimitsClient;
let mail: MailServer;
let hook: WebhookReceiver;
const SECRET = 'a-secret-of-the-organisation';

test.before(async () => {
  [provider, mail, hook] = await Promise.all([
    startFakeProvider(),
    startMailServer(),
    startWebhookReceiver(),
  ]);
  gateway = await startGateway({ GATEWAY_SMTP_URL: mail.url });
  client = limitsClient(gateway, provider);
});
test.after.always(async () => {
  await gateway?.close();
  await Promise.all([provider?.close(), mail?.close(), hook?.close()]);
});

const limitOf = (record: Json): Json => record.usage_limits as Json;
const mailsTo = (email: string): string[] => mail.messages.filter((text) => text.includes(`To: ${email}`));

/** The next call's answer tells so many tokens. */
function answerWith(tokens: number): void {
  provider.next('/chat/completions', (_, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'gpt-4o',
        choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: tokens - 1, completion_tokens: 1, total_tokens: tokens },
      }),
    );
  });
}

test.serial('an address that may not be called is refused, and the secret is never shown', async (t) => {
  const put = (settings: Json) => client.admin('PUT', '/admin/organisation', { settings });
  for (const settings of [
    { alert_webhook_url: 'http://169.254.169.254/latest' },
    { alert_webhook_url: 'ftp://example.com' },
    { alert_webhook_secret: 'short' },
  ]) {
    const error = await t.throwsAsync(put(settings));
    t.regex(error?.message ?? '', /alert_webhook_/, JSON.stringify(settings));
  }
  await put({ alert_webhook_url: hook.url, alert_webhook_secret: SECRET });
  const shown = (await client.admin('GET', '/admin/organisation')).settings as Json;
  t.is(shown.alert_webhook_url, hook.url);
  t.not(shown.alert_webhook_secret, SECRET);
  // What is shown may be sent back.
  await put(shown);
  const now = new Date(Date.now() + 60_000).toISOString();
  const audit = await client.admin(
    'GET',
    `/audit-logs?start_time=2020-01-01T00:00:00Z&end_time=${now}&method=PUT`,
  );
  t.false(JSON.stringify(audit).includes(SECRET));
});

test.serial('a key tells its owner, its addresses and the webhook, once for each level', async (t) => {
  const tokens = { type: 'tokens', credit_limit: 100, alert_threshold: 30 };
  const { id, key } = await client.key({ usage_limits: tokens, alert_emails: ['ops@example.com'] });
  const before = hook.received.length;
  t.is((await client.chat({}, {}, key)).status, 200);
  await client.keyUntil(id, (record) => limitOf(record).current_usage === 18);
  t.like(limitOf(await client.admin('GET', `/api-keys/${id}`)), { is_threshold_alerts_sent: false });
  t.is((await client.chat({}, {}, key)).status, 200);
  const reached = await client.keyUntil(id, (record) => limitOf(record).is_threshold_alerts_sent === true);
  t.like(limitOf(reached), { is_threshold_alerts_sent: true, is_exhausted_alerts_sent: false });
  t.is(mailsTo('ops@example.com').length, 1);
  t.regex(mailsTo('ops@example.com')[0] ?? '', /alert threshold of 30 tokens/);
  t.is(hook.received.length, before + 1);
  const [threshold] = hook.received.slice(before);
  const event = JSON.parse(threshold?.body ?? '{}') as { type: string; data: Json };
  t.is(event.type, 'usage_limit.threshold_reached');
  t.like(event.data, { owner: { type: 'api_key', id, name: 'limited' } });
  t.like(event.data.usage_limit, {
    type: 'tokens',
    credit_limit: 100,
    alert_threshold: 30,
    current_usage: 36,
  });
  const { headers, body } = threshold as Received;
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  t.is(headers['webhook-signature'], signatureOf(SECRET, signed));

  answerWith(150);
  t.is((await client.chat({}, {}, key)).status, 200);
  const spent = await client.keyUntil(id, (record) => limitOf(record).is_exhausted_alerts_sent === true);
  t.is(spent.status, 'exhausted');
  t.is((await client.chat({}, {}, key)).status, 412);
  t.is(mailsTo('ops@example.com').length, 2);
  t.is(hook.received.length, before + 2);
  t.is(JSON.parse(hook.received.at(-1)?.body ?? '{}').type, 'usage_limit.exhausted');
  t.not(hook.received.at(-1)?.headers['webhook-id'], headers['webhook-id']);

  // Raised, both flags go; crossed again, both are told again. A reset takes them back as well.
  await client.admin('PUT', `/api-keys/${id}`, {
    usage_limits: { ...tokens, credit_limit: 1000, alert_threshold: 300 },
  });
  const raised = limitOf(await client.admin('GET', `/api-keys/${id}`));
  t.like(raised, { is_threshold_alerts_sent: false, is_exhausted_alerts_sent: false });
  await until(
    () => client.chat({}, {}, key),
    ({ status }) => status === 200,
  );
  answerWith(200);
  t.is((await client.chat({}, {}, key)).status, 200);
  await client.keyUntil(id, (record) => limitOf(record).is_threshold_alerts_sent === true);
  t.is(mailsTo('ops@example.com').length, 3);
  await client.admin('PUT', `/api-keys/${id}`, {
    usage_limits: { ...tokens, credit_limit: 1000, alert_threshold: 900 },
  });
  const higher = limitOf(await client.admin('GET', `/api-keys/${id}`));
  t.like(higher, { is_threshold_alerts_sent: false });
  await client.admin('PUT', `/api-keys/${id}`, { usage_limits: { ...tokens, credit_limit: 1000 } });
  await client.admin('PUT', `/api-keys/${id}`, { reset_usage: true });
  t.like(limitOf(await client.admin('GET', `/api-keys/${id}`)), {
    current_usage: 0,
    is_threshold_alerts_sent: false,
    is_exhausted_alerts_sent: false,
  });
});

test.serial(
  'a webhook that fails is tried again with the same id, and mail does not wait for it',
  async (t) => {
    const { id, key } = await client.key({
      usage_limits: { type: 'tokens', credit_limit: 100, alert_threshold: 10 },
      alert_emails: ['again@example.com'],
    });
    const before = hook.received.length;
    hook.statuses.push(500);
    t.is((await client.chat({}, {}, key)).status, 200);
    await client.keyUntil(id, (record) => limitOf(record).is_threshold_alerts_sent === true);
    const ids = hook.received.slice(before).map(({ headers }) => headers['webhook-id']);
    t.is(ids.length, 2);
    t.is(ids[0], ids[1]);
    t.is(mailsTo('again@example.com').length, 1);
  },
);

test.serial('a stored provider tells its own', async (t) => {
  await client.admin('POST', '/integrations', {
    name: 'Watched',
    slug: 'watched-all',
    ai_provider_id: 'openai',
    key: 'sk-of-the-integration',
    configurations: { custom_host: provider.origin },
  });
  await client.admin('PUT', '/integrations/watched-all/workspaces', {
    workspaces: [{ id: 'default', enabled: true }],
  });
  await client.admin('POST', '/providers', {
    name: 'Watched',
    slug: 'watched',
    integration_id: 'watched-all',
    workspace_id: 'default',
    usage_limits: { type: 'tokens', credit_limit: 1000, alert_threshold: 15 },
  });
  const before = hook.received.length;
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': '@watched',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }], max_tokens: 10 }),
  });
  t.is(answer.status, 200, await answer.text());
  await until(
    async () => hook.received.length,
    (count) => count > before,
  );
  const event = JSON.parse(hook.received.at(-1)?.body ?? '{}') as { data: Json };
  t.like(event.data, { owner: { type: 'provider', name: 'Watched' }, usage_limit: { alert_threshold: 15 } });
});

test.serial('a workspace and a policy tell theirs; the policy stands in the audit log', async (t) => {
  const { id: policy } = await client.admin('POST', '/policies/usage-limits', {
    name: 'per user',
    type: 'tokens',
    credit_limit: 1000,
    alert_threshold: 15,
    conditions: [{ key: 'metadata.team', value: 'alerts' }],
    group_by: [{ key: 'metadata._user' }],
  });
  await client.admin('POST', '/admin/workspaces', {
    name: 'Told',
    slug: 'told',
    usage_limits: [{ type: 'tokens', credit_limit: 100, alert_threshold: 15 }],
  });
  const { key } = await client.admin('POST', '/api-keys/workspace/service', {
    name: 'k',
    workspace_id: 'told',
    scopes: ['completions.write'],
  });
  const before = hook.received.length;
  const metadata = JSON.stringify({ team: 'alerts', _user: 'alice' });
  t.is((await client.chat({ 'x-gateway-metadata': metadata }, {}, String(key))).status, 200);
  await until(
    async () => hook.received.length,
    (count) => count >= before + 2,
  );
  const events = hook.received.slice(before).map(({ body }) => JSON.parse(body) as { data: Json });
  const owners = events.map(({ data }) => data.owner as Json);
  t.deepEqual(owners.map(({ type }) => type).toSorted(), ['policy', 'workspace']);
  const ofPolicy = events.find(({ data }) => (data.owner as Json).type === 'policy');
  t.like(ofPolicy?.data, { value_key: 'metadata._user:alice', owner: { id: policy, name: 'per user' } });
  const path = `/policies/usage-limits/${policy}`;
  const flag = async () =>
    Object.values(
      (await client.admin('GET', `${path}?include_usage=true`)).value_key_usage_map as Json,
    )[0] as Json;
  t.like(await until(flag, ({ is_threshold_alerts_sent: sent }) => sent === true), {
    is_threshold_alerts_sent: true,
    is_exhausted_alerts_sent: false,
  });
  const now = new Date(Date.now() + 60_000).toISOString();
  const { records } = (await client.admin(
    'GET',
    `/audit-logs?start_time=2020-01-01T00:00:00Z&end_time=${now}&action=alert`,
  )) as { records: Json[] };
  t.is(records.length, 1, JSON.stringify(records));
  t.regex(JSON.stringify(records[0]), /metadata\._user:alice/);

  // A reset within the period: what is crossed then is told anew.
  const { data } = (await client.admin('GET', `${path}/entities`)) as { data: Json[] };
  await client.admin('PUT', `${path}/entities/${data[0]?.id}/reset`);
  t.like(await flag(), { current_usage: 0, is_threshold_alerts_sent: false });
  t.is((await client.chat({ 'x-gateway-metadata': metadata }, {}, String(key))).status, 200);
  t.like(await until(flag, ({ is_threshold_alerts_sent: sent }) => sent === true), {
    is_threshold_alerts_sent: true,
  });
});
