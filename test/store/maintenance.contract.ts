// The maintenance port's contract, and what upgrades promise: every adapter runs it.
import type { TestFn } from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import type { TenantScope } from '../../src/call/scope.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { type Collection, defineCollection } from '../../src/store/collection.ts';
import {
  archiveOperation,
  type Document,
  type DocumentStore,
  updateOperation,
} from '../../src/store/documents.ts';
import type {
  DocumentMaintenance,
  LogMaintenance,
  Rewrite,
  StoredDocument,
} from '../../src/store/maintenance.ts';
import type { RequestLogStore } from '../../src/store/request-log.ts';
import { upgradeDocuments } from '../../src/store/upgrade-documents.ts';
import { isNewerSchema } from '../../src/store/upgrades.ts';
import { freshScope } from './documents.contract.ts';
import { logEntry } from './log-entries.ts';

/** How a gadget was kept at first: a name, and a size in words. */
export interface OldGadget {
  readonly name: string;
  readonly size: string;
}

/** How it is kept now. */
export interface Gadget {
  readonly label: string;
  readonly inches: number;
  readonly tags: readonly string[];
}

const indexes = {
  unique: [{ fields: ['label'], per: 'organisation' }],
  sortable: ['inches'],
} as const;

/** The first version of the declaration: other places in the body, the same columns. */
export const oldGadgets = defineCollection<OldGadget>({
  name: 'gadgets',
  schemaVersion: 1,
  fields: [
    { name: 'label', type: 'text', path: 'name' },
    { name: 'inches', type: 'integer', nullable: true, path: 'none' },
  ],
  ...indexes,
});

export const gadgets = defineCollection<Gadget>({
  name: 'gadgets',
  schemaVersion: 3,
  upgrades: {
    1: ({ name, size, ...rest }) => ({ ...rest, label: name, inches: Number.parseInt(String(size), 10) }),
    2: (body) => ({ ...body, tags: [] }),
  },
  fields: [
    { name: 'label', type: 'text', nullable: true },
    { name: 'inches', type: 'integer', nullable: true },
  ],
  ...indexes,
});

/** Of a program that is not written yet. */
const futureGadgets = defineCollection<Gadget>({ ...gadgets, schemaVersion: 4, upgrades: {} });

/** The collections that an adapter under contract opens with. */
export const maintenanceCollections: readonly Collection<object>[] = [gadgets];

export interface MaintainedStore {
  readonly documents: DocumentStore;
  readonly maintenance: DocumentMaintenance;
}

export interface MaintainedLog {
  readonly requestLog: RequestLogStore;
  readonly logMaintenance: LogMaintenance;
}

const gadget = (label: string, inches = 5): Gadget => ({ label, inches, tags: [] });

/** All stored documents of an organisation, read in small batches. */
export async function scanned(
  maintenance: DocumentMaintenance,
  collection: Collection<object>,
  { organisationId }: TenantScope,
  limit = 3,
): Promise<StoredDocument[]> {
  const found: StoredDocument[] = [];
  let after: string | undefined;
  do {
    const batch = await maintenance.scan(collection, { limit, after });
    found.push(...batch.documents.filter(({ document }) => document.organisationId === organisationId));
    after = batch.next;
  } while (after !== undefined);
  return found;
}

async function refusal(promise: Promise<unknown>): Promise<GatewayError> {
  const outcome = await promise.then(
    (value) => new Error(`was not refused: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof GatewayError) return outcome;
  throw outcome;
}

/** Registers the contract. `open` is called once per test and may answer the same store each time. */
export function maintenanceContract(test: TestFn, open: () => Promise<MaintainedStore>): void {
  test('a scan has the documents of all tenants once, archived ones too', async (t) => {
    const { documents, maintenance } = await open();
    const [one, two] = [freshScope(), freshScope()];
    for (let i = 0; i < 7; i++) {
      await documents.insert(one, gadgets, { id: `a${i}`, createdAt: i, body: gadget(`l${i}`) });
    }
    const other = await documents.insert(two, gadgets, {
      id: 'a0',
      createdAt: 1,
      slug: 's',
      workspaceId: 'w',
      body: gadget('l0'),
    });
    await documents.archive(one, gadgets, 'a3', { updatedAt: 9 });
    t.true((await maintenance.count(gadgets)) >= 8);
    const mine = await scanned(maintenance, gadgets, one);
    t.deepEqual(mine.map(({ document }) => document.id).sort(), ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
    t.deepEqual(mine.filter(({ document }) => document.status === 'archived').length, 1);
    const theirs = await scanned(maintenance, gadgets, two);
    t.deepEqual(
      theirs.map(({ document }) => document),
      [other as Document<object>],
    );
  });

  test('a batch of large bodies ends early, and the scan goes on behind it', async (t) => {
    const { documents, maintenance } = await open();
    const scope = freshScope();
    const text = 'x'.repeat(3 * 1024 * 1024);
    for (let i = 0; i < 4; i++) {
      const body = { ...gadget(`l${i}`), text };
      await documents.insert(scope, gadgets, { id: `b${i}`, createdAt: i, body });
    }
    const all = await scanned(maintenance, gadgets, scope, 1000);
    t.is(all.length, 4);
    let after: string | undefined;
    do {
      const batch = await maintenance.scan(gadgets, { limit: 1000, after });
      const big = batch.documents.filter(({ stamp }) => stamp.length > text.length);
      t.true(big.length <= 3);
      after = batch.next;
    } while (after !== undefined);
    for (const { document } of all) {
      await documents.archive(scope, gadgets, document.id, { updatedAt: 9 });
      await maintenance.rewrite(
        gadgets,
        (await scanned(maintenance, gadgets, scope, 1000))
          .filter((stored) => stored.document.id === document.id)
          .map((stored): Rewrite => ({ stored, body: gadget(document.id) })),
      );
    }
  });

  test('a rewrite keeps what a caller knows, and moves the values by which it is found', async (t) => {
    const { documents, maintenance } = await open();
    const scope = freshScope();
    const made = await documents.insert(scope, gadgets, {
      id: 'r',
      slug: 'slug',
      workspaceId: 'w',
      createdAt: 1,
      body: gadget('before'),
    });
    const [stored] = await scanned(maintenance, gadgets, scope);
    const body = { ...gadget('after', 9), 10: 'ten', $where: 1, sealed: { v: 'k2:…' } };
    t.deepEqual(await maintenance.rewrite(gadgets, [{ stored: stored as StoredDocument, body }]), [
      'written',
    ]);
    t.deepEqual(await documents.get(scope, gadgets, 'slug'), { ...made, body });
    const found = await documents.page(scope, gadgets, {
      pageSize: 9,
      filter: [{ field: 'label', op: 'eq', value: 'after' }],
      sort: { field: 'inches', order: 'asc' },
    });
    t.is(found.total, 1);
    const after = await documents.update(scope, gadgets, 'r', made.version, {
      body: gadget('more'),
      updatedAt: 2,
    });
    t.is(after.version, made.version + 1);
  });

  test('a rewrite never overwrites what was written since the scan', async (t) => {
    const { documents, maintenance } = await open();
    const scope = freshScope();
    for (const id of ['updated', 'archived', 'rewritten', 'free']) {
      await documents.insert(scope, gadgets, { id, createdAt: 1, body: gadget(id) });
    }
    const stored = await scanned(maintenance, gadgets, scope);
    const rewrites = stored.map((one): Rewrite => ({ stored: one, body: gadget(`${one.document.id}!`, 1) }));
    // The same body again is a change too: whoever wrote it was told that it is there.
    await documents.update(scope, gadgets, 'updated', 1, { body: gadget('updated'), updatedAt: 2 });
    await documents.archive(scope, gadgets, 'archived', { updatedAt: 2 });
    const other = stored.find(({ document }) => document.id === 'rewritten') as StoredDocument;
    t.deepEqual(await maintenance.rewrite(gadgets, [{ stored: other, body: gadget('first') }]), ['written']);
    const outcomes = await maintenance.rewrite(gadgets, rewrites);
    t.deepEqual(
      Object.fromEntries(outcomes.map((outcome, i) => [rewrites[i]?.stored.document.id, outcome])),
      { updated: 'changed', archived: 'changed', rewritten: 'changed', free: 'written' },
    );
    t.is((await documents.get(scope, gadgets, 'rewritten'))?.body.label, 'first');
    t.is((await documents.get(scope, gadgets, 'updated'))?.version, 2);
  });

  test('of rewrites at once, one is made', async (t) => {
    const { documents, maintenance } = await open();
    const scope = freshScope();
    await documents.insert(scope, gadgets, { id: 'o', createdAt: 1, body: gadget('o') });
    const [stored] = (await scanned(maintenance, gadgets, scope)) as [StoredDocument];
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        maintenance.rewrite(gadgets, [{ stored, body: gadget('o', 100 + i) }]),
      ),
    );
    t.deepEqual(outcomes.flat().sort(), ['changed', 'changed', 'changed', 'changed', 'changed', 'written']);
  });

  test('a rewrite that breaks a unique constraint writes nothing, and the others are made', async (t) => {
    const { documents, maintenance } = await open();
    const scope = freshScope();
    await documents.insert(scope, gadgets, { id: 'one', createdAt: 1, body: gadget('one') });
    await documents.insert(scope, gadgets, { id: 'two', createdAt: 1, body: gadget('two') });
    const stored = await scanned(maintenance, gadgets, scope);
    const rewrites = stored.map((one) => ({ stored: one, body: gadget('same') }));
    const outcomes = await maintenance.rewrite(gadgets, rewrites);
    t.deepEqual([...outcomes].sort(), ['conflict', 'written']);
    const loser = rewrites[outcomes.indexOf('conflict')]?.stored.document.id ?? '';
    t.is((await documents.get(scope, gadgets, loser))?.body.label, loser);
    t.deepEqual(await maintenance.rewrite(gadgets, []), []);
  });

  test('a document is imported exactly as it is, once', async (t) => {
    const { documents, maintenance } = await open();
    const { organisationId } = freshScope();
    const scope = { organisationId, workspaceId: undefined };
    const base = { organisationId, createdAt: 5, updatedAt: 77, schemaVersion: 3 } as const;
    const full: Document<object> = {
      ...base,
      id: 'i',
      workspaceId: 'w',
      slug: 's',
      version: 41,
      status: 'active',
      body: { ...gadget('imported', 3), ünï: '𝒳', 7: null },
    };
    const archived: Document<object> = {
      ...base,
      id: 'j',
      version: 2,
      status: 'archived',
      body: gadget('imported', 3),
    };
    const old: Document<object> = {
      ...base,
      id: 'k',
      version: 1,
      status: 'active',
      schemaVersion: 1,
      body: { name: 'old one', size: '12 inches' },
    };
    t.deepEqual(await maintenance.importDocuments(gadgets, [full, archived, old]), [
      'written',
      'written',
      'written',
    ]);
    t.deepEqual(await maintenance.importDocuments(gadgets, [full, archived, old]), [
      'present',
      'present',
      'present',
    ]);
    const stored = await scanned(maintenance, gadgets, scope);
    const byId = new Map(stored.map(({ document }) => [document.id, document]));
    t.deepEqual([byId.get('i'), byId.get('j'), byId.get('k')], [full, archived, old]);
    const inches = await documents.page(scope, gadgets, {
      pageSize: 9,
      filter: [{ field: 'inches', op: 'eq', value: 12 }],
    });
    t.deepEqual(
      inches.documents.map(({ id, body }) => [id, body]),
      [['k', { label: 'old one', inches: 12, tags: [] }]],
    );
    const changed = { ...full, updatedAt: 78 };
    const taken = { ...full, id: 'other', slug: 'other' };
    t.deepEqual(await maintenance.lookUp(gadgets, [full, changed, taken, old]), [
      ...['present', 'differs', 'absent', 'present'],
    ] as const);
    t.deepEqual(await maintenance.importDocuments(gadgets, [changed, taken]), ['differs', 'conflict']);
    t.is((await documents.update(scope, gadgets, 'i', 41, { body: gadget('x'), updatedAt: 80 })).version, 42);
  });

  test('bad maintenance calls are refused by field', async (t) => {
    const { maintenance } = await open();
    const field = async (promise: Promise<unknown>) =>
      (await refusal(promise)).details.violations?.[0]?.field;
    for (const limit of [0, 1001, 1.5, Number.NaN])
      t.is(await field(maintenance.scan(gadgets, { limit })), 'limit');
    for (const after of ['', '-1', '{"$gt":""}', '../x', 'é'])
      t.is(await field(maintenance.scan(gadgets, { limit: 1, after })), 'after');
    const document = { ...freshScope(), id: 'a', version: 1, status: 'active', createdAt: 1, updatedAt: 1 };
    const good = { ...document, schemaVersion: 3, body: gadget('a') } as Document<object>;
    const wrong: readonly Partial<Document<object>>[] = [
      { id: '' },
      { organisationId: 'a\0' },
      { version: 0 },
      { createdAt: -1 },
      { updatedAt: 0.5 },
      { schemaVersion: 0 },
      { status: 'gone' as 'active' },
    ];
    for (const part of wrong) {
      const error = await field(maintenance.importDocuments(gadgets, [{ ...good, ...part }]));
      t.is(error, Object.keys(part)[0]);
    }
  });

  test('an old document never reaches a service in its old shape', async (t) => {
    const { documents } = await open();
    const scope = freshScope();
    for (const id of ['g', 'h', 'i']) {
      const body = { name: `n ${id}`, size: '7 inches' };
      await documents.insert(scope, oldGadgets, { id, slug: `s${id}`, createdAt: 1, body });
    }
    const shape = (document: Document<Gadget> | undefined) => [document?.schemaVersion, document?.body];
    const wanted = (id: string) => [3, { label: `n ${id}`, inches: 7, tags: [] }];
    t.deepEqual(shape(await documents.get(scope, gadgets, 'g')), wanted('g'));
    t.deepEqual(shape(await documents.get(scope, gadgets, 'sg')), wanted('g'));
    const page = await documents.page(scope, gadgets, { pageSize: 9 });
    t.deepEqual(page.documents.map(shape), [wanted('g'), wanted('h'), wanted('i')]);
    const byLabel = await documents.page(scope, gadgets, {
      pageSize: 9,
      filter: [{ field: 'label', op: 'eq', value: 'n h' }],
    });
    t.deepEqual(byLabel.documents.map(shape), [wanted('h')]);
    t.deepEqual(shape(await documents.archive(scope, gadgets, 'g', { updatedAt: 2 })), wanted('g'));
    const [updated, archived] = await documents.commit(scope, [
      updateOperation(gadgets, 'h', 1, { body: gadget('new'), updatedAt: 2 }),
      archiveOperation(gadgets, 'i', { updatedAt: 2 }),
    ]);
    t.deepEqual(shape(updated as Document<Gadget>), [3, gadget('new')]);
    t.deepEqual(shape(archived as Document<Gadget>), wanted('i'));
    t.deepEqual(shape(await documents.get(scope, gadgets, 'i', { archived: true })), wanted('i'));
  });

  test('a document of a newer program is refused, and says so', async (t) => {
    const { documents, maintenance } = await open();
    const scope = freshScope();
    await documents.insert(scope, futureGadgets, { id: 'f', createdAt: 1, body: gadget('future') });
    await documents.insert(scope, gadgets, { id: 'now', createdAt: 1, body: gadget('now') });
    const [stored] = (await scanned(maintenance, gadgets, scope)).filter(
      ({ document }) => document.id === 'f',
    );
    const calls = [
      documents.get(scope, gadgets, 'f'),
      documents.page(scope, gadgets, { pageSize: 9 }),
      maintenance.rewrite(gadgets, [{ stored: stored as StoredDocument, body: gadget('x') }]),
      maintenance.importDocuments(gadgets, [{ ...(stored as StoredDocument).document, id: 'g' }]),
    ];
    for (const call of calls) {
      const error = await refusal(call);
      t.true(isNewerSchema(error));
      t.is(error.status, 503);
      t.regex(error.message, /gadgets has schema version 4.*knows 3/);
    }
    t.is((await documents.get(scope, gadgets, 'now'))?.body.label, 'now');
    await documents.archive(scope, futureGadgets, 'f', { updatedAt: 2 });
  });

  test('all old documents are written in the new shape, beside writers, and once', async (t) => {
    const { documents, maintenance } = await open();
    const scope = freshScope();
    const count = 30;
    for (let i = 0; i < count; i++) {
      const body = { name: `u${i}`, size: `${i} inches` };
      await documents.insert(scope, oldGadgets, { id: `u${i}`, createdAt: i, body });
    }
    const [report] = await Promise.all([
      upgradeDocuments(maintenance, gadgets),
      ...[3, 7, 11].map((i) =>
        documents.update(scope, gadgets, `u${i}`, 1, { body: gadget(`w${i}`, 1000 + i), updatedAt: 50 }),
      ),
    ]);
    t.true(report.upgraded >= count - 3);
    t.is(report.left, 0);
    t.is((await upgradeDocuments(maintenance, gadgets)).upgraded, 0);
    const stored = await scanned(maintenance, gadgets, scope);
    t.is(stored.length, count);
    for (const { document } of stored) {
      const i = Number(document.id.slice(1));
      const written = [3, 7, 11].includes(i);
      const body = written ? gadget(`w${i}`, 1000 + i) : gadget(`u${i}`, i);
      t.deepEqual([document.schemaVersion, document.version, document.body], [3, written ? 2 : 1, body]);
    }
    const high = await documents.page(scope, gadgets, {
      pageSize: 99,
      filter: [{ field: 'inches', op: 'gte', value: 20 }],
      sort: { field: 'inches', order: 'desc' },
    });
    t.deepEqual(
      high.documents.map(({ body }) => body.inches),
      [1011, 1007, 1003, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20],
    );
  });

  test('a document whose upgrade breaks a constraint is left and named', async (t) => {
    const { documents, maintenance } = await open();
    const scope = freshScope();
    await documents.insert(scope, gadgets, { id: 'there', createdAt: 1, body: gadget('twice') });
    const old: Document<object> = {
      id: 'old',
      organisationId: scope.organisationId,
      version: 1,
      status: 'archived',
      createdAt: 1,
      updatedAt: 1,
      schemaVersion: 1,
      body: { name: 'twice', size: '1' },
    };
    await maintenance.importDocuments(gadgets, [old]);
    t.is((await upgradeDocuments(maintenance, gadgets)).left, 0);
    // An old program wrote its column; what it says now is taken.
    await documents.insert(scope, defineCollection({ ...oldGadgets, fields: gadgets.fields }), {
      id: 'clash',
      createdAt: 1,
      body: { name: 'twice', size: '1' },
    });
    const report = await upgradeDocuments(maintenance, gadgets);
    t.is(report.left, 1);
    t.deepEqual(
      report.examples.map(({ id, schemaVersion }) => [id, schemaVersion]),
      [['clash', 1]],
    );
    t.is((await documents.get(scope, gadgets, 'clash'))?.body.label, 'twice');
    await documents.archive(scope, gadgets, 'clash', { updatedAt: 2 });
    t.is((await upgradeDocuments(maintenance, gadgets)).left, 0);
  });
}

/** Registers the contract of the log's maintenance. */
export function logMaintenanceContract(test: TestFn, open: () => Promise<MaintainedLog>): void {
  const scanAll = async (
    { logMaintenance }: MaintainedLog,
    { organisationId }: TenantScope,
    limit: number,
  ): Promise<RequestRecord[]> => {
    const found: RequestRecord[] = [];
    let after: string | undefined;
    do {
      const batch = await logMaintenance.scan({ limit, ...(after === undefined ? {} : { after }) });
      found.push(...batch.entries.filter((entry) => entry.organisationId === organisationId));
      after = batch.next;
    } while (after !== undefined);
    return found;
  };
  const byId = (entries: readonly RequestRecord[]): RequestRecord[] =>
    [...entries].sort((a, b) => (a.id < b.id ? -1 : 1));

  test('entries are scanned as they were stored, each once, and imported once', async (t) => {
    const store = await open();
    const [one, two] = [freshScope(), freshScope()];
    const usage = { promptTokens: 1, totalTokens: 3, reasoningTokens: 2 };
    const entries = Array.from({ length: 25 }, (_, i) =>
      logEntry({
        id: `e${String(i).padStart(2, '0')}`,
        organisationId: one.organisationId,
        createdAt: 1000 - i,
        ...(i % 2 ? { usage, timeToFirstTokenMs: 0 } : { error: { reason: 'r', message: 'ünï "' } }),
        metadata: { [`k${i}`]: '', a: 'b' },
      }),
    );
    await store.requestLog.append(entries.slice(0, 10));
    await store.requestLog.append([logEntry({ id: 'other', organisationId: two.organisationId })]);
    await store.logMaintenance.importEntries(entries);
    await store.logMaintenance.importEntries(entries);
    await store.logMaintenance.importEntries([]);
    t.deepEqual(byId(await scanAll(store, one, 4)), entries);
    t.is((await scanAll(store, two, 1000)).length, 1);
    const page = await store.requestLog.page(one, {}, { page: 0, pageSize: 100, order: 'asc' });
    t.is(page.total, 25);
    t.deepEqual(byId(page.entries), entries);
    const broken = { ...logEntry({ id: 'x', organisationId: one.organisationId }), createdAt: 0.5 };
    t.is((await refusal(store.logMaintenance.importEntries([broken]))).reason, 'validation_failed');
    t.is((await refusal(store.logMaintenance.scan({ limit: 0 }))).reason, 'validation_failed');
    t.is((await refusal(store.logMaintenance.scan({ limit: 1, after: 'x' }))).reason, 'validation_failed');
  });
}
