// A change and its entry are one unit of work, whoever else writes at the same time.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createChain } from '../../../src/access/audit/chain.ts';
import { type Changes, createChanges } from '../../../src/access/audit/changes.ts';
import { type AuditEntryBody, auditEntries, auditHeads, hashOf } from '../../../src/access/audit/entry.ts';
import { createSystemChanges } from '../../../src/access/audit/system-changes.ts';
import { verifyChain } from '../../../src/access/audit/verify.ts';
import type { TokenGrant } from '../../../src/call/grant.ts';
import type { Principal } from '../../../src/call/principal.ts';
import { fail, GatewayError } from '../../../src/lib/errors.ts';
import { defineCollection } from '../../../src/store/collection.ts';
import {
  type Document,
  type DocumentStore,
  failedOperation,
  insertOperation,
  updateOperation,
} from '../../../src/store/documents.ts';
import { openMongoStore } from '../../../src/store/mongo/open-mongo.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';
import { dropDatabase, freshDatabase } from '../../store/mongo-database.ts';
import { mongoServer, reportMissing } from '../../support/servers.ts';
import { callBy, freshOrganisation } from './calls.ts';

const things = defineCollection<{ readonly name: string; readonly size?: number }>({
  name: 'things',
  schemaVersion: 1,
  fields: [{ name: 'name', type: 'text' }],
  unique: [{ fields: ['name'], per: 'organisation' }],
});
const collections = [things, auditEntries, auditHeads];

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-audit-'));
const sqlite = openSqliteStore({ dataDir, collections });
test.after.always(async () => {
  await (await sqlite).close();
  rmSync(dataDir, { recursive: true, force: true });
});

function changesOver(documents: DocumentStore): Changes {
  const addressOf = () => '192.0.2.1';
  return createChanges(createChain({ documents }), { now: Date.now, addressOf });
}

function inserting(changes: Changes, organisationId: string, name: string, workspaceId?: string) {
  return changes.commit(
    callBy(organisationId),
    { organisationId, workspaceId },
    [insertOperation(things, { id: `thing ${name}`, createdAt: 1, body: { name } })],
    { id: `thing ${name}`, name, workspaceId, after: { name } },
  );
}

/** All entries in the chain's order. */
async function entriesOf(documents: DocumentStore, organisationId: string): Promise<AuditEntryBody[]> {
  const scope = { organisationId, workspaceId: undefined };
  const { documents: found } = await documents.page(scope, auditEntries, {
    pageSize: 1000,
    sort: { field: 'sequence', order: 'asc' },
  });
  return found.map(({ body }) => body);
}

/** What is wrong with a chain; empty when nothing is. */
async function faultsOf(documents: DocumentStore, organisationId: string): Promise<string[]> {
  const entries = await entriesOf(documents, organisationId);
  const faults: string[] = [];
  let previousHash = '';
  for (const [index, entry] of entries.entries()) {
    if (entry.sequence !== index + 1) faults.push(`entry ${index + 1} has the sequence ${entry.sequence}`);
    if (entry.previousHash !== previousHash) faults.push(`entry ${entry.sequence} does not follow`);
    if (entry.hash !== hashOf(entry)) faults.push(`entry ${entry.sequence} has another hash`);
    previousHash = entry.hash;
  }
  const head = await documents.get({ organisationId, workspaceId: undefined }, auditHeads, 'head');
  if (head?.body.sequence !== entries.length || head.body.hash !== previousHash)
    faults.push('the head differs');
  return faults;
}

async function refusal(promise: Promise<unknown>): Promise<GatewayError> {
  const outcome = await promise.then(
    () => 'was not refused',
    (error: unknown) => error,
  );
  if (outcome instanceof GatewayError) return outcome;
  throw new Error(String(outcome));
}

test('a change is written with its entry, and the call knows it', async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  const changes = changesOver(documents);
  const call = callBy(organisationId);
  const scope = { organisationId, workspaceId: undefined };
  const [made] = (await changes.commit(
    call,
    scope,
    [insertOperation(things, { id: 't1', createdAt: 1, body: { name: 'one', size: 1 } })],
    { id: 't1', name: 'one', workspaceId: 'w1', after: { name: 'one', size: 1 } },
  )) as [Document<{ name: string }>];
  t.is(made.body.name, 'one');
  t.true(call.audited);
  await changes.commit(
    callBy(organisationId),
    scope,
    [updateOperation(things, 't1', 1, { body: { name: 'one', size: 2 }, updatedAt: 2 })],
    { id: 't1', name: 'one', before: { name: 'one', size: 1 }, after: { name: 'one', size: 2 } },
  );
  const [first, second] = (await entriesOf(documents, organisationId)) as [AuditEntryBody, AuditEntryBody];
  t.like(first, {
    sequence: 1,
    previousHash: '',
    workspaceId: 'w1',
    outcome: 'allowed',
    statusCode: 200,
    requestId: call.id,
    method: 'POST',
    path: '/things',
    clientIp: '192.0.2.1',
    target: { id: 't1', name: 'one' },
  });
  t.deepEqual(first.actor, {
    type: 'api_key',
    id: 'key-1',
    name: 'a key',
    keyId: 'key-1',
    role: 'organisation-service',
  });
  t.deepEqual(second.changes, [{ path: 'size', before: 1, after: 2 }]);
  t.deepEqual(await faultsOf(documents, organisationId), []);
});

test('who did it is told as they were then', async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  const scope = { organisationId, workspaceId: undefined };
  const userOf = ({ userId }: Principal) =>
    userId === 'u1' ? { name: 'ada@example.com', role: 'manager' } : undefined;
  const changes = createChanges(createChain({ documents }), { now: Date.now, addressOf: () => '', userOf });
  const by = async (principal: Partial<Principal> | undefined) => {
    const call = callBy(organisationId);
    call.principal = principal && { ...(call.principal as Principal), ...principal };
    await changes.commit(call, scope, [], { id: 'x', name: 'x' });
  };
  await by({ userId: 'u1' });
  await by({ userId: 'gone', kind: 'workspace-user' });
  await by({ keyName: 'eve', kind: 'workspace-user', token: { user: 'eve', role: 'member' } as TokenGrant });
  await by(undefined);
  const entries = await entriesOf(documents, organisationId);
  t.deepEqual(
    entries.map(({ actor }) => actor),
    [
      { type: 'user', id: 'u1', name: 'ada@example.com', keyId: 'key-1', role: 'manager' },
      { type: 'user', id: 'gone', name: 'a key', keyId: 'key-1', role: 'workspace-user' },
      { type: 'user', id: 'eve', name: 'eve', keyId: 'key-1', role: 'member' },
      { type: 'anonymous', id: '', name: '', keyId: '', role: '' },
    ],
  );
});

test('what fails leaves neither the change nor an entry, tells its place, and takes nobody along', async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  const changes = changesOver(documents);
  const scope = { organisationId, workspaceId: undefined };
  await inserting(changes, organisationId, 'taken');
  const twice = changes.commit(
    callBy(organisationId),
    scope,
    [
      insertOperation(things, { id: 'n1', createdAt: 1, body: { name: 'new' } }),
      insertOperation(things, { id: 'n2', createdAt: 1, body: { name: 'taken' } }),
    ],
    { id: 'n1', name: 'new' },
  );
  const unstorable = inserting(changes, organisationId, 'null\0byte');
  const others = Array.from({ length: 5 }, (_, i) => inserting(changes, organisationId, `other ${i}`));
  const conflict = await refusal(twice);
  t.is(conflict.reason, 'conflict');
  t.is(failedOperation(conflict), 1);
  t.is((await refusal(unstorable)).reason, 'validation_failed');
  await Promise.all(others);
  t.is(await documents.get(scope, things, 'n1'), undefined);
  const targets = (await entriesOf(documents, organisationId)).map(({ target }) => target.name).sort();
  t.deepEqual(targets, ['other 0', 'other 1', 'other 2', 'other 3', 'other 4', 'taken']);
  t.deepEqual(await faultsOf(documents, organisationId), []);
});

test("a workspace's scope narrows what is written and what is found", async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  const changes = changesOver(documents);
  await inserting(changes, organisationId, 'mine', 'w1');
  const made = await documents.get({ organisationId, workspaceId: 'w1' }, things, 'thing mine');
  t.is(made?.workspaceId, 'w1');
  const update = (workspaceId: string, own?: string) =>
    changes.commit(
      callBy(organisationId),
      { organisationId, workspaceId },
      [updateOperation(things, 'thing mine', 1, { body: { name: 'x' }, updatedAt: 2 }, own)],
      { id: 'thing mine', name: 'x' },
    );
  t.is((await refusal(update('w2'))).reason, 'not_found');
  t.is((await refusal(update('w2', 'w1'))).details.param, 'workspaceId');
  t.is((await entriesOf(documents, organisationId)).length, 1);
});

test('100 changes at once are 100 entries of one chain', async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  const changes = changesOver(documents);
  const begun = performance.now();
  await Promise.all(Array.from({ length: 100 }, (_, i) => inserting(changes, organisationId, `n${i}`)));
  t.log(`${Math.round(performance.now() - begun)} ms`);
  t.is((await entriesOf(documents, organisationId)).length, 100);
  t.deepEqual(await faultsOf(documents, organisationId), []);
});

test('two writers of one chain lose races and no entry', async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  const writers = [changesOver(documents), changesOver(documents)];
  await Promise.all(
    writers.flatMap((changes, which) =>
      Array.from({ length: 30 }, async (_, i) => {
        await new Promise((resolve) => setTimeout(resolve, i));
        return inserting(changes, organisationId, `${which}.${i}`);
      }),
    ),
  );
  t.is((await entriesOf(documents, organisationId)).length, 60);
  t.deepEqual(await faultsOf(documents, organisationId), []);
});

test('a store that does not answer is told to everybody who waits, and the next change goes through', async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  let broken = true;
  const changes = changesOver({
    ...documents,
    commit: (scope, operations) =>
      broken ? Promise.reject(fail('store_unavailable', 'gone')) : documents.commit(scope, operations),
  });
  const outcomes = await Promise.all(
    [1, 2, 3].map((i) => refusal(inserting(changes, organisationId, `n${i}`))),
  );
  t.deepEqual(
    outcomes.map(({ reason }) => reason),
    Array(3).fill('store_unavailable'),
  );
  broken = false;
  await inserting(changes, organisationId, 'after');
  t.deepEqual(await faultsOf(documents, organisationId), []);
});

test('who waits too long, or behind too many, is refused and changes nothing', async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  const entered = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const slow: DocumentStore = {
    ...documents,
    commit: async (scope, operations) => {
      entered.resolve();
      await gate.promise;
      return documents.commit(scope, operations);
    },
  };
  const chain = createChain({ documents: slow, maxWaitMs: 200 });
  const changes = createChanges(chain, { now: Date.now, addressOf: () => '' });
  const first = inserting(changes, organisationId, 'first');
  await entered.promise;
  const late = Array.from({ length: 2001 }, (_, i) =>
    refusal(inserting(changes, organisationId, `late ${i}`)),
  );
  await new Promise((resolve) => setTimeout(resolve, 250));
  gate.resolve();
  await first;
  const reasons = (await Promise.all(late)).map(({ reason, message }) => `${reason}: ${message}`);
  t.deepEqual(
    [...new Set(reasons)],
    ['store_unavailable: the audit log has too much to do; nothing was changed'],
  );
  await chain.idle();
  t.is((await entriesOf(documents, organisationId)).length, 1);
  t.deepEqual(await faultsOf(documents, organisationId), []);
});

test('what the gateway does on its own has its entry too', async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  const changes = createSystemChanges(createChain({ documents }), Date.now);
  await changes.commit(
    { verb: 'create', resource: 'thing', detail: 'by the command line' },
    { organisationId, workspaceId: 'w1' },
    [insertOperation(things, { id: 't1', createdAt: 1, body: { name: 'one' } })],
    { id: 't1', name: 'one', after: { name: 'one' } },
  );
  const [entry] = await entriesOf(documents, organisationId);
  t.like(entry, {
    actor: { type: 'system' },
    action: 'create',
    workspaceId: 'w1',
    detail: 'by the command line',
  });
  t.deepEqual(await faultsOf(documents, organisationId), []);
});

test('a lost head is made again from the entries, and the entry that follows says so', async (t) => {
  const { documents } = await sqlite;
  const organisationId = freshOrganisation();
  const scope = { organisationId, workspaceId: undefined };
  await inserting(changesOver(documents), organisationId, 'one');
  const head = await documents.get(scope, auditHeads, 'head');
  await inserting(changesOver(documents), organisationId, 'two');
  // Set back to where it was: the next place is taken.
  await documents.update(scope, auditHeads, 'head', 2, { body: head!.body, updatedAt: 1 });
  await inserting(changesOver(documents), organisationId, 'three');
  const entries = await entriesOf(documents, organisationId);
  t.deepEqual(
    entries.map(({ sequence, recovered }) => [sequence, recovered]),
    [
      [1, undefined],
      [2, undefined],
      [3, true],
    ],
  );
});

const server = await mongoServer();
if (server === undefined) reportMissing(test, 'MongoDB');
else {
  test('two instances on one MongoDB write one chain', async (t) => {
    const database = freshDatabase();
    const options = { uri: server.uri, collections, database, deadlineMs: 20_000 };
    const stores = await Promise.all([openMongoStore(options), openMongoStore(options)]);
    const organisationId = freshOrganisation();
    const begun = performance.now();
    await Promise.all(
      stores.flatMap(({ documents }, which) => {
        const changes = changesOver(documents);
        return Array.from({ length: 50 }, (_, i) => inserting(changes, organisationId, `${which}.${i}`));
      }),
    );
    t.log(`${Math.round(performance.now() - begun)} ms`);
    const { documents } = stores[0];
    t.is((await entriesOf(documents, organisationId)).length, 100);
    t.deepEqual(await faultsOf(documents, organisationId), []);
    t.like(await verifyChain(stores[1].documents, organisationId), { entries: 100, break: undefined });
    await Promise.all(stores.map((store) => store.close()));
    await dropDatabase(server, database);
  });
}
