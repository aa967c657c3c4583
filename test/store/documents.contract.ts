// The document port's contract: every adapter runs it.
import type { TestFn } from 'ava';
import type { TenantScope } from '../../src/call/scope.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { type Collection, defineCollection } from '../../src/store/collection.ts';
import {
  archiveOperation,
  type DocumentStore,
  failedOperation,
  insertOperation,
  type NewDocument,
  type PageQuery,
  updateOperation,
} from '../../src/store/documents.ts';

export interface Widget {
  readonly name: string;
  readonly size?: number | null;
  readonly weight?: number;
  readonly hash?: string;
  readonly shared?: boolean;
  readonly owner?: { readonly mail?: string };
  readonly text?: string;
}

export const widgets = defineCollection<Widget>({
  name: 'widgets',
  schemaVersion: 3,
  fields: [
    { name: 'name', type: 'text' },
    { name: 'size', type: 'integer', nullable: true },
    { name: 'weight', type: 'real', nullable: true },
    { name: 'hash', type: 'text', nullable: true, global: true },
    { name: 'shared', type: 'integer', nullable: true },
    { name: 'ownerMail', type: 'text', nullable: true, path: 'owner.mail' },
  ],
  unique: [
    { fields: ['slug'], per: 'workspace' },
    { fields: ['name', 'ownerMail'], per: 'organisation' },
  ],
  sortable: ['name', 'size', 'updatedAt'],
});

export const heads = defineCollection<{ readonly count: number }>({ name: 'heads', schemaVersion: 1 });

/** The collections that an adapter under contract opens with. */
export const contractCollections: readonly Collection<object>[] = [widgets, heads];

let lastOrganisation = 0;
/** An organisation that no other test has. */
export function freshScope(): TenantScope {
  lastOrganisation++;
  return { organisationId: `org-${process.pid}-${lastOrganisation}`, workspaceId: undefined };
}

function within(scope: TenantScope, workspaceId: string): TenantScope {
  return { organisationId: scope.organisationId, workspaceId };
}

function widget(id: string, more: Partial<NewDocument<Widget>> = {}): NewDocument<Widget> {
  return { id, createdAt: 1000, body: { name: `name of ${id}` }, ...more };
}

async function refusal(promise: Promise<unknown>): Promise<GatewayError> {
  const outcome = await promise.then(
    (value) => new Error(`was not refused: ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof GatewayError) return outcome;
  throw outcome;
}

function fieldsOf(error: GatewayError): readonly string[] {
  return (error.details.violations ?? []).map((violation) => violation.field);
}

/** Registers the contract. `open` is called once per test and may answer the same store each time. */
export function documentsContract(test: TestFn, open: () => Promise<DocumentStore>): void {
  test('a document comes back as it went in', async (t) => {
    const store = await open();
    const scope = freshScope();
    const body: Widget = {
      name: 'ünï © 𝒳 "quoted" \\u0000 \\',
      size: 7,
      weight: 1.5,
      text: '$where; DROP TABLE',
    };
    const made = await store.insert(scope, widgets, widget('a', { slug: 'a-slug', workspaceId: 'w', body }));
    t.deepEqual(made, {
      id: 'a',
      organisationId: scope.organisationId,
      workspaceId: 'w',
      slug: 'a-slug',
      version: 1,
      status: 'active',
      createdAt: 1000,
      updatedAt: 1000,
      schemaVersion: 3,
      body,
    });
    t.deepEqual(await store.get(scope, widgets, 'a'), made);
    t.deepEqual(await store.get(scope, widgets, 'a-slug'), made);
    t.is(await store.get(scope, widgets, 'b'), undefined);
  });

  test('a tenant sees its own documents only', async (t) => {
    const store = await open();
    const [one, two] = [freshScope(), freshScope()];
    await store.insert(one, widgets, widget('x', { workspaceId: 'w1', slug: 's' }));
    await store.insert(one, widgets, widget('org-wide'));
    await store.insert(two, widgets, widget('x', { slug: 's' }));
    t.is((await store.get(two, widgets, 'x'))?.organisationId, two.organisationId);
    t.is(await store.get(within(one, 'w2'), widgets, 'x'), undefined);
    t.is(await store.get(within(one, 'w2'), widgets, 's'), undefined);
    t.is(await store.get(within(one, 'w1'), widgets, 'org-wide'), undefined);
    t.is((await store.get(within(one, 'w1'), widgets, 's'))?.id, 'x');
    const change = { body: { name: 'n' }, updatedAt: 1 };
    t.is((await refusal(store.update(within(one, 'w2'), widgets, 'x', 1, change))).reason, 'not_found');
    t.is(
      (await refusal(store.archive(within(one, 'w2'), widgets, 'x', { updatedAt: 1 }))).reason,
      'not_found',
    );
    t.is((await store.page(one, widgets, { pageSize: 10 })).total, 2);
    t.is((await store.page(within(one, 'w1'), widgets, { pageSize: 10 })).total, 1);
    const inside = await store.insert(within(one, 'w1'), widgets, widget('y'));
    t.is(inside.workspaceId, 'w1');
    const outside = await refusal(
      store.insert(within(one, 'w1'), widgets, widget('z', { workspaceId: 'w2' })),
    );
    t.deepEqual(fieldsOf(outside), ['workspaceId']);
    t.is(
      (await refusal(store.get({ organisationId: '', workspaceId: undefined }, widgets, 'x'))).status,
      400,
    );
  });

  test('unique values are refused by field, per scope, among active documents', async (t) => {
    const store = await open();
    const scope = freshScope();
    await store.insert(scope, widgets, widget('a', { slug: 's', workspaceId: 'w1' }));
    await store.insert(scope, widgets, widget('b', { slug: 's', workspaceId: 'w2' }));
    await store.insert(scope, widgets, widget('c', { slug: 's' }));
    const taken = await refusal(store.insert(scope, widgets, widget('d', { slug: 's', workspaceId: 'w1' })));
    t.is(taken.reason, 'conflict');
    t.is(taken.abCode, 'AB07');
    t.deepEqual(fieldsOf(taken), ['slug']);
    t.deepEqual(fieldsOf(await refusal(store.insert(scope, widgets, widget('d', { slug: 's' })))), ['slug']);
    t.deepEqual(fieldsOf(await refusal(store.insert(scope, widgets, widget('a')))), ['id']);
    t.deepEqual(fieldsOf(await refusal(store.get(scope, widgets, 's'))), ['slug']);

    const owned = (name: string): Widget => ({ name, owner: { mail: 'm' } });
    await store.insert(scope, widgets, widget('e', { body: owned('same') }));
    const both = await refusal(
      store.insert(scope, widgets, widget('f', { workspaceId: 'w', body: owned('same') })),
    );
    t.deepEqual(fieldsOf(both), ['name', 'ownerMail']);
    await store.insert(scope, widgets, widget('g', { body: { name: 'same' } }));
    await store.insert(scope, widgets, widget('h', { body: { name: 'same' } }));

    const renamed = { body: owned('same'), updatedAt: 2 };
    t.is((await refusal(store.update(scope, widgets, 'g', 1, renamed))).reason, 'conflict');
    await store.archive(scope, widgets, 'e', { updatedAt: 2 });
    t.is((await store.update(scope, widgets, 'g', 1, renamed)).version, 2);
  });

  test('an update writes against a version, and only then', async (t) => {
    const store = await open();
    const scope = freshScope();
    await store.insert(scope, widgets, widget('a', { slug: 's', workspaceId: 'w' }));
    const second = await store.update(scope, widgets, 'a', 1, { body: { name: 'two' }, updatedAt: 2000 });
    t.like(second, { version: 2, slug: 's', workspaceId: 'w', createdAt: 1000, updatedAt: 2000 });
    t.deepEqual(await store.get(scope, widgets, 'a'), second);
    const late = await refusal(
      store.update(scope, widgets, 'a', 1, { body: { name: 'late' }, updatedAt: 1 }),
    );
    t.is(late.reason, 'version_conflict');
    t.is(
      (await store.update(scope, widgets, 'a', 2, { body: { name: 'n' }, slug: null, updatedAt: 3 })).slug,
      undefined,
    );
    t.is(
      (await store.update(scope, widgets, 'a', 3, { body: { name: 'n' }, slug: 'new', updatedAt: 3 })).slug,
      'new',
    );
    t.is(await store.get(scope, widgets, 's'), undefined);
    const none = store.update(scope, widgets, 'nobody', 1, { body: { name: 'n' }, updatedAt: 3 });
    t.is((await refusal(none)).reason, 'not_found');

    const racers = Array.from({ length: 20 }, (_, i) =>
      store.update(scope, widgets, 'a', 4, { body: { name: `racer ${i}` }, updatedAt: 4 }),
    );
    const outcomes = await Promise.allSettled(racers);
    t.is(outcomes.filter((outcome) => outcome.status === 'fulfilled').length, 1);
  });

  test('an archived document leaves lists, and is read by id when asked for', async (t) => {
    const store = await open();
    const scope = freshScope();
    await store.insert(scope, widgets, widget('a', { slug: 's' }));
    await store.insert(scope, widgets, widget('b', { slug: 't' }));
    t.is(
      (await refusal(store.archive(scope, widgets, 'a', { version: 9, updatedAt: 2 }))).reason,
      'version_conflict',
    );
    const archived = await store.archive(scope, widgets, 'a', { version: 1, updatedAt: 2 });
    t.like(archived, { status: 'archived', version: 2, updatedAt: 2, slug: 's' });
    t.is(await store.get(scope, widgets, 'a'), undefined);
    t.is(await store.get(scope, widgets, 's', { archived: true }), undefined);
    t.deepEqual(await store.get(scope, widgets, 'a', { archived: true }), archived);
    t.is((await refusal(store.archive(scope, widgets, 'a', { updatedAt: 3 }))).reason, 'not_found');
    const ids = async (status: 'active' | 'archived' | 'all' | undefined): Promise<string[]> => {
      const query: PageQuery = { pageSize: 9, ...(status ? { status } : {}) };
      return (await store.page(scope, widgets, query)).documents.map((document) => document.id);
    };
    t.deepEqual(await ids(undefined), ['b']);
    t.deepEqual(await ids('archived'), ['a']);
    t.deepEqual(await ids('all'), ['a', 'b']);
    await store.insert(scope, widgets, widget('c', { slug: 's' }));
  });

  test('a commit is made as a whole or not at all', async (t) => {
    const store = await open();
    const scope = freshScope();
    const made = await store.commit(scope, [
      insertOperation(heads, { id: 'head', createdAt: 1, body: { count: 0 } }),
      insertOperation(widgets, widget('a', { slug: 's', workspaceId: 'w' })),
    ]);
    t.deepEqual(
      made.map((document) => document.id),
      ['head', 'a'],
    );
    const broken = await refusal(
      store.commit(scope, [
        updateOperation(heads, 'head', 1, { body: { count: 1 }, updatedAt: 2 }),
        archiveOperation(widgets, 'a', { updatedAt: 2 }, 'w'),
        insertOperation(widgets, widget('b', { slug: 's', workspaceId: 'w' })),
        insertOperation(widgets, widget('b')),
      ]),
    );
    t.is(broken.reason, 'conflict');
    t.is(failedOperation(broken), 3);
    t.like(await store.get(scope, heads, 'head'), { version: 1, body: { count: 0 } });
    t.is((await store.get(scope, widgets, 'a'))?.status, 'active');
    t.is(await store.get(scope, widgets, 'b'), undefined);
    const foreign = await refusal(
      store.commit(scope, [archiveOperation(widgets, 'a', { updatedAt: 2 }, 'other')]),
    );
    t.is(foreign.reason, 'not_found');
    t.deepEqual(await store.commit(scope, []), []);

    // Half of these lose their race for the head, and none of those leaves its widget behind.
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) =>
        store.commit(scope, [
          insertOperation(widgets, widget(`race-${i}`)),
          updateOperation(heads, 'head', 1, { body: { count: i }, updatedAt: 3 }),
        ]),
      ),
    );
    const won = outcomes.filter((outcome) => outcome.status === 'fulfilled');
    t.is(won.length, 1);
    const page = await store.page(scope, widgets, { pageSize: 100 });
    t.is(page.documents.filter((document) => document.id.startsWith('race-')).length, 1);
  });

  test('pages by number and by cursor hold every document once, in order', async (t) => {
    const store = await open();
    const scope = freshScope();
    const sizes = Array.from({ length: 57 }, (_, i) => (i % 5 === 0 ? null : (i * 13) % 11));
    await Promise.all(
      sizes.map((size, i) =>
        store.insert(
          scope,
          widgets,
          widget(`w${i}`, { createdAt: 1000 + (i % 9), body: { name: `n${i}`, size } }),
        ),
      ),
    );
    for (const field of ['createdAt', 'size', 'name']) {
      for (const order of ['asc', 'desc'] as const) {
        const query = { pageSize: 10, sort: { field, order } };
        const byNumber: string[] = [];
        for (let page = 0; page < 6; page++) {
          const answer = await store.page(scope, widgets, { ...query, page });
          t.is(answer.total, 57);
          byNumber.push(...answer.documents.map((document) => document.id));
        }
        const byCursor: string[] = [];
        let cursor: string | undefined;
        do {
          const answer = await store.page(scope, widgets, { ...query, ...(cursor ? { cursor } : {}) });
          byCursor.push(...answer.documents.map((document) => document.id));
          cursor = answer.nextCursor;
        } while (cursor);
        t.is(new Set(byNumber).size, 57, `${field} ${order}`);
        t.deepEqual(byCursor, byNumber, `${field} ${order}`);
      }
    }
    const { documents } = await store.page(scope, widgets, {
      pageSize: 100,
      sort: { field: 'size', order: 'desc' },
    });
    const found = documents.map((document) => document.body.size ?? -1);
    t.deepEqual(
      found,
      [...found].sort((a, b) => b - a),
    );
  });

  test('a page of long documents is whole and in order', async (t) => {
    const store = await open();
    const scope = freshScope();
    const ids = Array.from({ length: 9 }, (_, i) => `long${i}`);
    for (const [i, id] of ids.entries())
      await store.insert(
        scope,
        widgets,
        widget(id, {
          createdAt: 1000 + i,
          body: { name: id, text: String(i).repeat(600_000 / (1 + (i % 2) * 40)) },
        }),
      );
    const query = { sort: { field: 'createdAt', order: 'desc' } } as const;
    const page = await store.page(scope, widgets, { ...query, pageSize: 8 });
    t.deepEqual(
      page.documents.map(({ id, body }) => [id, body.text?.[0], body.text?.length]),
      [8, 7, 6, 5, 4, 3, 2, 1].map((i) => [`long${i}`, String(i), i % 2 === 0 ? 600_000 : 14_634]),
    );
    t.is(page.total, 9);
    const { nextCursor: cursor } = page;
    const last = await store.page(scope, widgets, { ...query, pageSize: 8, ...(cursor ? { cursor } : {}) });
    t.deepEqual(
      last.documents.map(({ id }) => id),
      ['long0'],
    );
  });

  test('filters hold together and take values as data', async (t) => {
    const store = await open();
    const scope = freshScope();
    const rows: [string, Widget][] = [
      ['a', { name: '{"$gt":""}', size: 1, weight: 0.5, shared: true }],
      ['b', { name: "x' OR '1'='1", size: 2, shared: false }],
      ['c', { name: '%_*.', size: 3, owner: { mail: 'c@x' } }],
      ['d', { name: 'Ünï', size: null }],
    ];
    for (const [id, body] of rows) {
      await store.insert(scope, widgets, widget(id, { body, ...(id === 'c' ? { workspaceId: 'w' } : {}) }));
    }
    const ids = async (...filter: NonNullable<PageQuery['filter']>): Promise<string> => {
      const page = await store.page(scope, widgets, { pageSize: 10, filter });
      t.is(page.total, page.documents.length);
      return page.documents.map((document) => document.id).join('');
    };
    t.is(await ids({ field: 'name', op: 'eq', value: '{"$gt":""}' }), 'a');
    t.is(await ids({ field: 'name', op: 'eq', value: "x' OR '1'='1" }), 'b');
    t.is(await ids({ field: 'name', op: 'contains', value: '%' }), 'c');
    t.is(await ids({ field: 'name', op: 'contains', value: "' OR" }), 'b');
    t.is(await ids({ field: 'name', op: 'contains', value: 'n' }), 'd');
    t.is(await ids({ field: 'size', op: 'eq', value: null }), 'd');
    t.is(await ids({ field: 'size', op: 'in', value: [1, 3, 9] }), 'ac');
    t.is(await ids({ field: 'size', op: 'in', value: [] }), '');
    t.is(await ids({ field: 'size', op: 'gt', value: 1 }, { field: 'size', op: 'lte', value: 2 }), 'b');
    t.is(await ids({ field: 'weight', op: 'lt', value: 1 }), 'a');
    t.is(await ids({ field: 'shared', op: 'eq', value: true }), 'a');
    t.is(await ids({ field: 'ownerMail', op: 'eq', value: 'c@x' }), 'c');
    t.is(await ids({ field: 'workspaceId', op: 'eq', value: null }), 'abd');
    t.is(await ids({ field: 'id', op: 'in', value: ['a', 'd', "'"] }), 'ad');
  });

  test('what a filter, sort or page may not be is a 400 that names the field', async (t) => {
    const store = await open();
    const scope = freshScope();
    const field = async (query: object): Promise<string> => {
      const error = await refusal(store.page(scope, widgets, { pageSize: 10, ...query }));
      t.is(error.status, 400, JSON.stringify(query));
      return fieldsOf(error).join();
    };
    const filter = (value: unknown, op: string, name: string): object => ({
      filter: [{ field: name, op, value }],
    });
    t.is(await field(filter({ $gt: '' }, 'eq', 'name')), 'name');
    t.is(await field(filter([{ $gt: '' }], 'in', 'name')), 'name');
    t.is(await field(filter('1', 'eq', 'size')), 'size');
    t.is(await field(filter(Number.NaN, 'gt', 'weight')), 'weight');
    t.is(await field(filter('a\0b', 'eq', 'name')), 'name');
    t.is(await field(filter('\ud800', 'eq', 'name')), 'name');
    t.is(await field(filter('a', 'regex', 'name')), 'name');
    t.is(await field(filter('a', 'eq', 'text')), 'text');
    t.is(await field(filter('a', 'eq', 'name; --')), 'name; --');
    t.is(await field(filter('a', 'eq', '__proto__')), '__proto__');
    t.is(await field(filter(Array(1001).fill(1), 'in', 'size')), 'size');
    t.is(await field({ sort: { field: 'weight', order: 'asc' } }), 'weight');
    t.is(await field({ sort: { field: 'name', order: 'asc; --' } }), 'order');
    t.is(await field({ pageSize: 1001 }), 'page_size');
    t.is(await field({ pageSize: 0 }), 'page_size');
    t.is(await field({ pageSize: 1.5 }), 'page_size');
    t.is(await field({ page: -1 }), 'current_page');
    t.is(await field({ page: 10_001 }), 'current_page');
    t.is(await field({ page: Number.MAX_VALUE }), 'current_page');
    t.is(await field({ cursor: 'nonsense' }), 'cursor');
    t.is(await field({ cursor: 'x', page: 1 }), 'cursor');
    t.is(await field({ status: { $ne: 1 } }), 'status');
    await store.insert(scope, widgets, widget('a'));
    await store.insert(scope, widgets, widget('b'));
    const { nextCursor } = await store.page(scope, widgets, { pageSize: 1 });
    t.is(await field({ cursor: nextCursor, sort: { field: 'name', order: 'asc' } }), 'cursor');
  });

  test('what a document may not be is a 4xx that names the field', async (t) => {
    const store = await open();
    const scope = freshScope();
    const refused = async (more: object): Promise<string> => {
      const error = await refusal(store.insert(scope, widgets, { ...widget('bad'), ...more }));
      t.true(error.status >= 400 && error.status < 500);
      return error.details.param ?? '';
    };
    const circular: { name: string; self?: object } = { name: 'c' };
    circular.self = circular;
    t.is(await refused({ body: { name: 'a\0b' } }), 'body');
    t.is(await refused({ body: { name: 'a', 'k\0': 1 } }), 'body');
    t.is(await refused({ body: { name: 7 } }), 'name');
    t.is(await refused({ body: { name: { $gt: '' } } }), 'name');
    t.is(await refused({ body: {} }), 'name');
    t.is(await refused({ body: { name: 'a', size: 1.5 } }), 'size');
    t.is(await refused({ body: { name: 'x'.repeat(1025) } }), 'name');
    t.is(await refused({ body: [] }), 'body');
    t.is(await refused({ body: circular }), 'body');
    t.is(await refused({ id: '' }), 'id');
    t.is(await refused({ id: 'a\0' }), 'id');
    t.is(await refused({ slug: 'x'.repeat(257) }), 'slug');
    t.is(await refused({ createdAt: 1.5 }), 'createdAt');
    const huge = await refusal(
      store.insert(
        scope,
        widgets,
        widget('huge', { body: { name: 'n', text: 'é'.repeat(2.1 * 1024 * 1024) } }),
      ),
    );
    t.is(huge.status, 413);
    t.is(await store.get(scope, widgets, 'bad'), undefined);
    const large = widget('large', { body: { name: 'n', text: 'x'.repeat(4 * 1024 * 1024 - 100) } });
    await store.insert(scope, widgets, large);
    t.is((await store.get(scope, widgets, 'large'))?.body.text?.length, 4 * 1024 * 1024 - 100);
  });

  test('a global field finds a document over all tenants, while it is active', async (t) => {
    const store = await open();
    const [one, two] = [freshScope(), freshScope()];
    const hash = `hash of ${one.organisationId}`;
    const made = await store.insert(
      one,
      widgets,
      widget('k', { workspaceId: 'w', body: { name: 'k', hash } }),
    );
    t.deepEqual(await store.findByUnique(widgets, 'hash', hash), made);
    t.is(await store.findByUnique(widgets, 'hash', 'another'), undefined);
    const copy = widget('k2', { body: { name: 'k2', hash } });
    t.deepEqual(fieldsOf(await refusal(store.insert(two, widgets, copy))), ['hash']);
    t.deepEqual(fieldsOf(await refusal(store.findByUnique(widgets, 'name', 'k'))), ['name']);
    t.is((await refusal(store.findByUnique(widgets, 'hash', 'a\0'))).status, 400);
    t.is((await refusal(store.findByUnique(widgets, 'hash', { $gt: '' } as unknown as string))).status, 400);
    await store.archive(one, widgets, 'k', { updatedAt: 2 });
    t.is(await store.findByUnique(widgets, 'hash', hash), undefined);
    await store.insert(two, widgets, copy);
  });
}
