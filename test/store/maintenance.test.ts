// Maintenance of the embedded store: the contract, and what is its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { defineCollection } from '../../src/store/collection.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import {
  gadgets,
  logMaintenanceContract,
  maintenanceCollections,
  maintenanceContract,
  oldGadgets,
  scanned,
} from './maintenance.contract.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-maintenance-'));
const shared = openSqliteStore({ dataDir: join(root, 'shared'), collections: maintenanceCollections });
test.after.always(async () => {
  await (await shared).close();
  rmSync(root, { recursive: true, force: true });
});

maintenanceContract(test.serial as typeof test, () => shared);
logMaintenanceContract(test, () => shared);

const scope = { organisationId: 'o', workspaceId: undefined };

test('a start upgrades what is there before anybody reads, and an older program is refused after it', async (t) => {
  const dataDir = join(root, 'start');
  const first = await openSqliteStore({ dataDir, collections: [oldGadgets] });
  for (let i = 0; i < 450; i++) {
    const body = { name: `n${i}`, size: `${i} inches` };
    await first.documents.insert(scope, oldGadgets, { id: `d${i}`, createdAt: i, body });
  }
  await first.close();

  const second = await openSqliteStore({ dataDir, collections: [gadgets] });
  const stored = await scanned(second.maintenance, gadgets, scope, 1000);
  t.deepEqual([...new Set(stored.map(({ document }) => document.schemaVersion))], [3]);
  const found = await second.documents.page(scope, gadgets, {
    pageSize: 9,
    filter: [{ field: 'inches', op: 'eq', value: 449 }],
  });
  t.is(found.documents[0]?.id, 'd449');
  await second.close();

  const older = openSqliteStore({ dataDir, collections: [oldGadgets] });
  const error = await t.throwsAsync(older, { instanceOf: GatewayError });
  t.is(error?.reason, 'store_unavailable');
  t.regex(error?.message ?? '', /gadgets has schema version 3, made by a newer version.*knows 1/);
  await (await openSqliteStore({ dataDir, collections: [gadgets] })).close();
});

test('a document that cannot be upgraded stops no start and is tried again at the next', async (t) => {
  const dataDir = join(root, 'stubborn');
  const first = await openSqliteStore({ dataDir, collections: [oldGadgets] });
  await first.documents.insert(scope, oldGadgets, { id: 'd', createdAt: 1, body: { name: 'n', size: '1' } });
  await first.close();
  const failing = (): never => {
    throw new Error('not for this one');
  };
  const broken = defineCollection({ ...gadgets, upgrades: { 1: failing } });
  const second = await openSqliteStore({ dataDir, collections: [broken] });
  const error = await t.throwsAsync(second.documents.get(scope, broken, 'd'), { instanceOf: GatewayError });
  t.is(error?.reason, 'internal');
  await second.close();
  const third = await openSqliteStore({ dataDir, collections: [gadgets] });
  t.deepEqual((await scanned(third.maintenance, gadgets, scope))[0]?.document.body, {
    label: 'n',
    inches: 1,
    tags: [],
  });
  await third.close();
});

test('a declaration names upgrades from versions before its own', (t) => {
  const define = (upgrades: Record<string, () => object>) =>
    defineCollection({ name: 'x', schemaVersion: 2, upgrades });
  t.notThrows(() => define({ 1: () => ({}) }));
  for (const from of ['0', '2', '1.5', 'a']) {
    t.throws(() => define({ [from]: () => ({}) }), { message: /upgrades names/ });
  }
});
