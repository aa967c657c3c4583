// Alerts of several instances: two that notice the same crossing tell it once, on one store and over a restart.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { alertCollections } from '../../../src/ledger/alerts/alert.ts';
import { type AlertParts, type Alerts, openAlerts } from '../../../src/ledger/alerts/alerts.ts';
import type { BudgetRule } from '../../../src/ledger/limits/rule.ts';
import { budgetKey } from '../../../src/ledger/limits/usage.ts';
import { parseAllowList } from '../../../src/lib/egress/allow-list.ts';
import { createDialer } from '../../../src/lib/egress/dialer.ts';
import { createMailer } from '../../../src/lib/mailer.ts';
import { openChangeFeed } from '../../../src/store/change-feed.ts';
import { openMemoryState } from '../../../src/store/memory/open-memory.ts';
import { noticedDocuments } from '../../../src/store/noticed-documents.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { type Json, limitsClient, until } from '../../support/limits-client.ts';
import { startMailServer } from '../../support/mail-server.ts';
import { mongoServer, redisServer, reportMissing } from '../../support/servers.ts';
import { startWebhookReceiver } from '../../support/webhook-receiver.ts';

const ORG = 'org-1';
const RULE: BudgetRule = {
  kind: 'budget',
  id: 'u:key:k1:tokens',
  name: 'the usage limit of the API key',
  type: 'tokens',
  cap: 100n,
  threshold: 30n,
  onOutage: 'deny',
  schedule: { reset: undefined, days: undefined, next: undefined, began: undefined, since: undefined },
};
const KEY = budgetKey(RULE, Date.now());

/** Instances on one embedded store, as a restart and a second process would be. */
async function world(t: ExecutionContext, { refuse = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-alerts-'));
  const store = await openSqliteStore({ dataDir: folder, collections: [...alertCollections] });
  const state = await openMemoryState({ dataDir: folder });
  const feed = openChangeFeed({ state: undefined, watch: undefined, onError: (error) => t.log(error) });
  const documents = noticedDocuments(store.documents, feed);
  const [mail, hook] = await Promise.all([startMailServer({ refuse }), startWebhookReceiver()]);
  const dialer = createDialer({ allow: parseAllowList('127.0.0.1/32') });
  let offset = 0;
  const now = (): number => Date.now() + offset;
  const opened: { close(): Promise<void> }[] = [];
  const parts = (server: string): AlertParts => ({
    documents,
    state,
    dialer,
    now,
    everyMs: 20,
    source: { feed, documents, organisations: () => [ORG], onError: (error) => t.log(error) },
    mailer: createMailer(server, 'gateway@example.com'),
    audienceOf: async () => ({
      owner: { type: 'api_key', id: 'k1', name: 'k' },
      emails: ['a@example.com', 'b@example.com'],
      webhook: { url: hook.url },
    }),
    commit: (organisationId, _, operation) =>
      documents.commit({ organisationId, workspaceId: undefined }, [operation]),
    onTrouble: () => {},
  });
  t.teardown(async () => {
    for (const one of opened) await one.close();
    await Promise.all([mail.close(), hook.close(), dialer.close()]);
    await feed.close();
    await state.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    mail,
    hook,
    later: (ms: number) => {
      offset += ms;
    },
    async instance(server = mail.url): Promise<{ readonly alerts: Alerts; close(): Promise<void> }> {
      const one = await openAlerts(parts(server));
      opened.push(one);
      return one;
    },
  };
}

const holds = (when: () => boolean): Promise<boolean> => until(async () => when(), Boolean);

test('two instances that notice one crossing many times tell it once', async (t) => {
  const { instance, mail, hook } = await world(t);
  const both = await Promise.all([instance(), instance()]);
  for (let spent = 30n; spent < 60n; spent++)
    for (const { alerts } of both) alerts.charged(ORG, RULE, KEY, spent);
  t.true(await holds(() => both.every(({ alerts }) => alerts.board.isSent(ORG, RULE, KEY, 'threshold'))));
  for (const { alerts } of both) {
    alerts.charged(ORG, RULE, KEY, 70n);
    await alerts.idle();
  }
  t.is(mail.messages.length, 2);
  t.is(hook.received.length, 1);
  const ids = mail.messages.map((text) => /^Message-ID: <(.*)>$/m.exec(text)?.[1]);
  t.is(new Set(ids).size, 1);
});

test('one that could not be sent is sent after a restart, and to nobody twice', async (t) => {
  const { instance, mail, hook, later } = await world(t);
  const dead = await startMailServer({ refuse: true });
  const first = await instance(dead.url);
  first.alerts.charged(ORG, RULE, KEY, 40n);
  t.true(await holds(() => hook.received.length === 1));
  await first.alerts.idle();
  t.false(first.alerts.board.isSent(ORG, RULE, KEY, 'threshold'));
  await first.close();
  await dead.close();
  const second = await instance();
  await second.alerts.idle();
  t.is(mail.messages.length, 0, 'not before its time');
  later(6000);
  t.true(await holds(() => second.alerts.board.isSent(ORG, RULE, KEY, 'threshold')));
  t.is(mail.messages.length, 2);
  t.is(hook.received.length, 1);
});

test('a period that is over is not told of, the next one is; nothing is told below the threshold', async (t) => {
  const { instance, hook, later } = await world(t);
  const { alerts } = await instance();
  const next = Date.now() + 60_000;
  const rule: BudgetRule = { ...RULE, schedule: { ...RULE.schedule, reset: 'monthly', next } };
  const key = budgetKey(rule, Date.now());
  alerts.charged(ORG, rule, key, 29n);
  alerts.refused(ORG, rule, key);
  await alerts.idle();
  t.is(hook.received.length, 0);
  alerts.charged(ORG, rule, key, 30n);
  t.true(await holds(() => hook.received.length === 1));
  later(61_000);
  const after = budgetKey(rule, Date.now() + 61_000);
  t.not(after, key);
  t.false(alerts.board.isSent(ORG, rule, after, 'threshold'));
  // A call that began before the turn is settled in the period that is over.
  alerts.charged(ORG, rule, key, 100n);
  await alerts.idle();
  t.is(hook.received.length, 1);
  alerts.charged(ORG, rule, after, 35n);
  t.true(await holds(() => hook.received.length === 2));
});

const mongo = await mongoServer();
const redis = await redisServer();
if (!mongo || !redis) reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
else
  test('two gateways on one MongoDB and one Redis tell a crossing once', async (t) => {
    const url = new URL(mongo.uri);
    url.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const [provider, mail, hook] = await Promise.all([
      startFakeProvider(),
      startMailServer(),
      startWebhookReceiver(),
    ]);
    const env = {
      MONGODB_URI: url.href,
      REDIS_URL: redis.url,
      GATEWAY_SMTP_URL: mail.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    };
    const gateways: TestGateway[] = [];
    t.teardown(async () => {
      for (const gateway of gateways) await gateway.close();
      await Promise.all([provider.close(), mail.close(), hook.close()]);
    });
    for (let i = 0; i < 2; i++) gateways.push(await startGateway(env));
    const clients = gateways.map((gateway) => limitsClient(gateway, provider));
    const [first, second] = clients as [(typeof clients)[0], (typeof clients)[0]];
    await first.admin('PUT', '/admin/organisation', { settings: { alert_webhook_url: hook.url } });
    const { id, key } = await first.key({
      usage_limits: { type: 'tokens', credit_limit: 100_000, alert_threshold: 100 },
      alert_emails: ['ops@example.com'],
    });
    await until(
      () => second.chat({}, {}, key),
      ({ status }) => status === 200,
    );
    const calls = Array.from({ length: 40 }, (_, i) => clients[i % 2]?.chat({}, {}, key));
    await Promise.all(calls);
    const sent = (record: Json) => (record.usage_limits as Json).is_threshold_alerts_sent === true;
    for (const client of clients) t.true(sent(await client.keyUntil(id, sent)));
    await new Promise((resolve) => setTimeout(resolve, 300));
    t.is(mail.messages.filter((text) => text.includes('To: ops@example.com')).length, 1);
    t.is(hook.received.length, 1);
  });
