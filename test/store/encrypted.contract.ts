// What encryption at rest promises, on whichever adapter is beneath.
import { randomBytes } from 'node:crypto';
import type { ExecutionContext, TestFn } from 'ava';
import fc from 'fast-check';
import { GatewayError } from '../../src/lib/errors.ts';
import { type Collection, defineCollection } from '../../src/store/collection.ts';
import {
  archiveOperation,
  type DocumentStore,
  insertOperation,
  updateOperation,
} from '../../src/store/documents.ts';
import { encryptedDocuments } from '../../src/store/encrypted-documents.ts';
import { type DataKeys, UnreadableSecret, type UnreadableWhy } from '../../src/store/sealed-body.ts';
import { type DataKey, dataKey } from '../../src/store/sealed-value.ts';
import { freshScope } from './documents.contract.ts';

export interface Vault {
  readonly name: string;
  readonly credentials?: unknown;
  readonly targets?: readonly { readonly url?: string; readonly key?: unknown }[];
  readonly headers?: Readonly<Record<string, unknown>>;
}

export const vaults = defineCollection<Vault>({
  name: 'vaults',
  schemaVersion: 1,
  fields: [{ name: 'name', type: 'text', global: true }],
  secret: ['credentials', 'targets.*.key', 'headers.*'],
});

/** As `vaults`, of the time when its credentials were no secret yet. */
export const formerVaults = defineCollection<Vault>({
  name: 'vaults_of_old',
  schemaVersion: 1,
  fields: [{ name: 'name', type: 'text', global: true }],
});
export const laterVaults = defineCollection<Vault>({
  name: 'vaults_of_old',
  schemaVersion: 1,
  fields: [{ name: 'name', type: 'text', global: true }],
  secret: [{ path: 'credentials', formerlyPlain: true }],
});

export const secretCollections: readonly Collection<object>[] = [vaults, formerVaults];

/** The test's own view of a stored body, and its own pen. */
export interface RawBodies {
  read(collection: string, organisationId: string, id: string): Promise<string>;
  write(collection: string, organisationId: string, id: string, body: string): Promise<void>;
}

/** Keys that a test holds in its hand. */
export function heldKeys(...held: DataKey[]): DataKeys & { held: DataKey[] } {
  const keys = {
    held,
    current: async () => keys.held[0] as DataKey,
    find: async (id: string) => keys.held.find((key) => key.id === id),
  };
  return keys;
}

export function freshKey(id: string): DataKey {
  return dataKey(id, randomBytes(32));
}

const MARK = 'plain-as-day';
const json = fc.jsonValue({ maxDepth: 4 });

/** Registers the promises. */
export function encryptionContract(
  test: TestFn,
  open: () => Promise<{ documents: DocumentStore; raw: RawBodies }>,
): void {
  const keys = heldKeys(freshKey('dk_one'));
  const heard: UnreadableSecret[] = [];
  const over = async () => {
    const { documents, raw } = await open();
    const onUnreadable = (secret: UnreadableSecret): void => void heard.push(secret);
    return { plain: documents, raw, documents: encryptedDocuments(documents, { keys, onUnreadable }) };
  };

  async function refused(t: ExecutionContext, look: () => unknown): Promise<GatewayError> {
    const error = t.throws(look, { instanceOf: GatewayError }) as GatewayError;
    t.true(error instanceof Error && error.cause instanceof UnreadableSecret);
    t.false(`${error.message} ${error.stack} ${JSON.stringify(error.cause)}`.includes(MARK));
    return error;
  }

  test('a page of secrets that take long to open gives way between them', async (t) => {
    const { plain, documents } = await over();
    const scope = freshScope();
    const ids = Array.from({ length: 12 }, (_, i) => `slow${i}-${scope.organisationId}`);
    const made = ids.map((id) =>
      insertOperation(vaults, { id, createdAt: 1, body: { name: id, credentials: MARK } }),
    );
    await documents.commit(scope, made);
    const slow: DataKeys = {
      ...keys,
      find: async (id) => {
        const until = performance.now() + 6;
        while (performance.now() < until);
        return keys.find(id);
      },
    };
    let turns = 0;
    let ended = false;
    const count = (): void => {
      turns++;
      if (!ended) setImmediate(count);
    };
    // Only what happens after the store's answer is counted.
    const paged: DocumentStore = {
      ...plain,
      page: async (...query) => {
        const page = await plain.page(...query);
        setImmediate(count);
        return page;
      },
    };
    const heldUp = encryptedDocuments(paged, { keys: slow, onUnreadable: () => undefined });
    const page = await heldUp.page(scope, vaults, { pageSize: 100 });
    ended = true;
    t.deepEqual(
      page.documents.map(({ body }) => body.credentials),
      ids.map(() => MARK),
    );
    t.true(turns >= 11, `${turns} turns`);
  });

  test('any JSON comes back as it went in, and nothing of it is stored in the clear', async (t) => {
    const { documents, raw } = await over();
    const scope = freshScope();
    let count = 0;
    const marked = json.map((value) => ({ value, mark: MARK }));
    const body = fc.record({
      credentials: marked,
      targets: fc.array(fc.record({ url: fc.webUrl(), key: marked }), { maxLength: 3 }),
      headers: fc.dictionary(fc.string({ maxLength: 8 }), marked, { maxKeys: 3 }),
      more: json,
    });
    await fc.assert(
      fc.asyncProperty(body, body, async (first, second) => {
        const id = `v${count++}`;
        const clean = (value: object): Vault =>
          JSON.parse(JSON.stringify({ name: id, ...value }).replaceAll('\\u0000', '0'));
        const [one, two] = [clean(first), clean(second)];
        const made = await documents.insert(scope, vaults, { id, createdAt: 1, body: one });
        t.deepEqual(made.body, one);
        t.deepEqual((await documents.get(scope, vaults, id))?.body, one);
        t.false((await raw.read('vaults', scope.organisationId, id)).includes(MARK));
        const changed = await documents.update(scope, vaults, id, 1, { body: two, updatedAt: 2 });
        t.deepEqual(changed.body, two);
        t.deepEqual((await documents.findByUnique(vaults, 'name', id))?.body, two);
        t.false((await raw.read('vaults', scope.organisationId, id)).includes(MARK));
        const archived = await documents.archive(scope, vaults, id, { updatedAt: 3 });
        t.deepEqual(archived.body, two);
        t.is(
          JSON.stringify((await documents.get(scope, vaults, id, { archived: true }))?.body),
          JSON.stringify(two),
        );
      }),
      { numRuns: 60 },
    );
    const page = await documents.page(scope, vaults, { pageSize: 100, status: 'archived' });
    t.is(page.documents.length, count);
    t.true(page.documents.every((document) => (document.body.credentials as { mark: string }).mark === MARK));
    t.deepEqual(heard, []);
  });

  test('the same value twice is stored as two texts, and members that are not there stay away', async (t) => {
    const { documents, raw } = await over();
    const scope = freshScope();
    const body = { name: 'a-twice', credentials: MARK, headers: JSON.parse('{"__proto__":"p","x":null}') };
    await documents.commit(scope, [
      insertOperation(vaults, { id: 'a', createdAt: 1, body }),
      insertOperation(vaults, { id: 'b', createdAt: 1, body: { ...body, name: 'b-twice' } }),
      insertOperation(vaults, { id: 'c', createdAt: 1, body: { name: 'c-twice', targets: [{ url: 'u' }] } }),
    ]);
    const stored = async (id: string) => JSON.parse(await raw.read('vaults', scope.organisationId, id));
    const [a, b] = [await stored('a'), await stored('b')];
    t.regex(a.credentials, /^sealed:v1:dk_one:[\w-]+$/);
    t.not(a.credentials, b.credentials);
    t.regex(Object.getOwnPropertyDescriptor(a.headers, '__proto__')?.value, /^sealed:/);
    t.regex(a.headers.x, /^sealed:/);
    t.deepEqual(await stored('c'), { name: 'c-twice', targets: [{ url: 'u' }] });
    t.deepEqual((await documents.get(scope, vaults, 'a'))?.body, body);
    const written = await documents.commit(scope, [
      updateOperation(vaults, 'a', 1, { body: { name: 'a-twice', credentials: 7 }, updatedAt: 2 }),
      archiveOperation(vaults, 'b', { updatedAt: 2 }),
    ]);
    t.deepEqual(
      written.map((document) => (document.body as Vault).credentials),
      [7, MARK],
    );
  });

  test('a value that was changed, moved, cut or laid bare does not open, and nothing else goes down', async (t) => {
    const { documents, raw } = await over();
    const [scope, other] = [freshScope(), freshScope()];
    const vault = (id: string) => ({
      id,
      createdAt: 1,
      body: {
        name: `${id}-${scope.organisationId}`,
        credentials: MARK,
        targets: [{ key: MARK }, { key: 'k' }],
      },
    });
    const there = { ...vault('a'), body: { ...vault('a').body, name: `o-${scope.organisationId}` } };
    await documents.insert(other, vaults, there);
    for (const id of ['a', 'b']) await documents.insert(scope, vaults, vault(id));
    const read = (id: string, organisationId = scope.organisationId) =>
      raw.read('vaults', organisationId, id);
    const whole = await read('a');
    const parsed = JSON.parse(whole);
    const put = (changes: object) =>
      raw.write('vaults', scope.organisationId, 'a', JSON.stringify({ ...parsed, ...changes }));
    const text: string = parsed.credentials;
    const middle = Math.floor((text.length + 17) / 2);
    const flipped = `${text.slice(0, middle)}${text[middle] === 'A' ? 'B' : 'A'}${text.slice(middle + 1)}`;
    const cases: Record<string, readonly [string | object, UnreadableWhy]> = {
      'another row': [JSON.parse(await read('b')).credentials, 'damaged'],
      'another tenant': [JSON.parse(await read('a', other.organisationId)).credentials, 'damaged'],
      'another path': [parsed.targets[0].key, 'damaged'],
      'one letter': [flipped, 'damaged'],
      'cut off': [text.slice(0, -8), 'damaged'],
      'too short': ['sealed:v1:dk_one:AAAA', 'plain'],
      'laid bare': [MARK, 'plain'],
      'an object': [{ mark: MARK }, 'plain'],
      'another key': [text.replace('dk_one', 'dk_two'), 'unknown_key'],
    };
    for (const [name, [value, why]] of Object.entries(cases)) {
      await put({ credentials: value });
      const before = heard.length;
      const broken = await documents.get(scope, vaults, 'a');
      const error = await refused(t, () => broken?.body.credentials);
      t.is((error.cause as UnreadableSecret).why, why, name);
      if (why !== 'plain') t.regex(error.message, why === 'unknown_key' ? /dk_two/ : /dk_one/, name);
      t.regex(error.message, /credentials of vaults a/, name);
      t.is(heard.length, before + 1, name);
      t.is(broken?.body.targets?.[1]?.key, 'k', 'what lies beside it is there');
      await refused(t, () => ({ ...broken?.body, name: 'written back' }));
      await refused(t, () => JSON.stringify(broken));
      const page = await documents.page(scope, vaults, { pageSize: 10 });
      t.deepEqual(
        page.documents.map(({ id }) => id),
        ['a', 'b'],
      );
      t.is(page.documents[1]?.body.credentials, MARK, 'other documents of the page are there');
    }
    await put({ targets: [parsed.targets[1], parsed.targets[0]] });
    const shuffled = await documents.get(scope, vaults, 'a');
    await refused(t, () => shuffled?.body.targets?.[0]?.key);

    await documents.update(scope, vaults, 'a', 1, { body: vault('a').body, updatedAt: 2 });
    t.is((await documents.get(scope, vaults, 'a'))?.body.credentials, MARK, 'a new value repairs it');
    heard.length = 0;
  });

  test('what was stored before its field was declared secret is read, and sealed by its next write', async (t) => {
    const { plain, documents, raw } = await over();
    const scope = freshScope();
    const name = `old-${scope.organisationId}`;
    await plain.insert(scope, formerVaults, { id: 'o', createdAt: 1, body: { name, credentials: MARK } });
    const found = await documents.get(scope, laterVaults, 'o');
    t.is(found?.body.credentials, MARK);
    await documents.update(scope, laterVaults, 'o', 1, { body: found?.body as Vault, updatedAt: 2 });
    t.false((await raw.read('vaults_of_old', scope.organisationId, 'o')).includes(MARK));
    t.is((await documents.get(scope, laterVaults, 'o'))?.body.credentials, MARK);
  });

  test('a body that is refused is refused as ever, before anything is sealed', async (t) => {
    const { documents } = await over();
    const scope = freshScope();
    const insert = (body: unknown) =>
      documents.insert(scope, vaults, { id: 'x', createdAt: 1, body: body as Vault });
    const loop: Record<string, unknown> = { name: 'loop' };
    loop.credentials = loop;
    for (const body of [
      null,
      [],
      'text',
      loop,
      { name: 'x', credentials: 'null \0 byte' },
      { credentials: 1 },
    ]) {
      const error = await t.throwsAsync(insert(body), { instanceOf: GatewayError });
      t.is(error?.status, 400);
    }
    const error = await t.throwsAsync(insert({ name: 'x', credentials: 'x'.repeat(3.9 * 1024 * 1024) }), {
      instanceOf: GatewayError,
    });
    t.is(error?.reason, 'body_too_large', 'its sealed form is larger than the store takes');
    const filter = [{ field: 'credentials', op: 'eq', value: 'x' }] as const;
    t.is(
      (await t.throwsAsync(documents.page(scope, vaults, { pageSize: 1, filter })))?.message.includes(
        'credentials',
      ),
      true,
    );
  });
}
