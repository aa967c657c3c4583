// Whom alerts are for, by what carries the budget.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { Directory } from '../../../src/access/directory.ts';
import {
  accessCollections,
  apiKeys,
  members,
  users,
  workspaces,
} from '../../../src/access/identity-collections.ts';
import { audienceFinder } from '../../../src/app/alert-audience.ts';
import type { AlertBody } from '../../../src/ledger/alerts/alert.ts';
import { mailOf } from '../../../src/ledger/alerts/message.ts';
import { ledgerCollections, usageLimitPolicies } from '../../../src/ledger/policies.ts';
import type { Collection } from '../../../src/store/collection.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';

const ORG = 'o1';

test('owners and admins, the key’s owner and addresses, the workspace’s admins and managers', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-audience-'));
  const store = await openSqliteStore({
    dataDir: folder,
    collections: [...accessCollections, ...ledgerCollections],
  });
  t.teardown(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const put = <B extends object>(collection: Collection<B>, id: string, body: object, workspaceId?: string) =>
    store.documents.insert({ organisationId: ORG, workspaceId }, collection, {
      id,
      createdAt: 1,
      body: body as B,
      ...(workspaceId === undefined ? {} : { workspaceId }),
    });
  for (const [id, role] of [
    ['owner', 'owner'],
    ['admin', 'admin'],
    ['manager', 'member'],
    ['plain', 'member'],
    ['holder', 'member'],
  ] as const)
    await put(users, id, { email: `${id}@example.com`, firstName: '', lastName: '', role });
  await store.documents.insert({ organisationId: 'o2', workspaceId: undefined }, users, {
    id: 'stranger',
    createdAt: 1,
    body: { email: 'stranger@example.com', firstName: '', lastName: '', role: 'owner' },
  });
  await put(workspaces, 'w1', { name: 'Blue' });
  for (const [userId, role] of [
    ['manager', 'manager'],
    ['plain', 'member'],
  ] as const)
    await put(members, `m-${userId}`, { userId, role, email: `${userId}@example.com` }, 'w1');
  const key = { name: 'Mine', kind: 'workspace-user', userId: 'holder', scopes: [], hash: 'h', hint: 'x' };
  await put(apiKeys, 'k1', { ...key, alertEmails: ['OPS@example.com', 'owner@example.com'] }, 'w1');
  const policy = { name: 'P', conditions: [], groupBy: ['api_key'], type: 'cost', creditLimit: 5 };
  await put(usageLimitPolicies, 'p1', policy, 'w1');
  const find = audienceFinder({
    documents: store.documents,
    directory: new Directory(),
    flushGroups: async () => {},
  });
  const alert = (budget: string): AlertBody => ({
    budget,
    level: 'threshold',
    key: `${budget}:0.0`,
    type: 'cost',
    name: 'x',
    cap: '10000000000000',
    threshold: '2500000000000',
    spent: '3000000000000',
    noticedAt: 0,
    claim: 1,
    state: 'due',
    done: [],
    tries: 0,
    nextTryAt: 0,
  });
  const emails = async (budget: string) =>
    (await find(ORG, alert(budget))).emails.map((email) => email.replace('@example.com', '')).toSorted();
  t.deepEqual(await emails('u:key:k1:cost'), ['admin', 'holder', 'ops', 'owner']);
  t.deepEqual(await emails('u:ws:w1:cost'), ['admin', 'manager', 'owner']);
  t.deepEqual(await emails('p:p1:group'), ['admin', 'manager', 'owner']);
  t.deepEqual(await emails('u:token:somebody:cost'), ['admin', 'owner']);
  t.deepEqual(await emails('u:key:gone:cost'), ['admin', 'owner']);
  const mail = mailOf(alert('u:key:k1:cost'), await find(ORG, alert('u:key:k1:cost')));
  t.is(mail.subject, 'Usage limit: API key Mine has reached its alert threshold');
  t.regex(mail.text, /alert threshold of \$2\.5\./);
  t.regex(mail.text, /Used: \$3 of \$10/);
});
