// A replica under whatever order documents arrive in: what it finds is what the newest versions say.
import test from 'ava';
import fc from 'fast-check';
import { defineCollection } from '../../src/store/collection.ts';
import type { Document } from '../../src/store/documents.ts';
import { Replica } from '../../src/store/replica.ts';

interface Thing {
  readonly group: string;
}
type Heard = Pick<Document<Thing>, 'id' | 'organisationId' | 'version' | 'status' | 'slug' | 'body'>;

const things = defineCollection<Thing>({ name: 'things', schemaVersion: 1, noticed: true });

function replicaOfThings(): Replica<Thing> {
  return new Replica<Thing>(things, {
    row: (document) => document,
    nameOf: ({ slug }) => slug,
    groupOf: ({ body }) => body.group,
  });
}

function document(heard: Heard): Document<Thing> {
  return { ...heard, createdAt: 0, updatedAt: 0, schemaVersion: 1 };
}

const IDS = ['a', 'b', 'c'];
const ORGANISATIONS = ['o', 'p'];
const GROUPS = ['g', 'h'];
/** What a version says follows from its number: one that is told of again says the same. */
const heard = fc
  .record({
    id: fc.constantFrom(...IDS),
    organisationId: fc.constantFrom(...ORGANISATIONS),
    version: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ id, organisationId, version }): Heard => {
    const status = version === 9 ? 'archived' : 'active';
    const slug = `${id}-${version >> 1}`;
    return { id, organisationId, version, status, slug, body: { group: GROUPS[version % 2] ?? '' } };
  });

test('the newest version counts, by id, by name and by group, and nothing older comes back', (t) => {
  fc.assert(
    fc.property(fc.array(heard, { maxLength: 60 }), (changes) => {
      const replica = replicaOfThings();
      const newest = new Map<string, Heard>();
      for (const change of changes) {
        const key = `${change.organisationId} ${change.id}`;
        const isNew = change.version > (newest.get(key)?.version ?? 0);
        if (isNew) newest.set(key, change);
        t.is(replica.apply(document(change)), isNew);
        // After every single event, not only in the end.
        const active = [...newest.values()].filter(({ status }) => status === 'active');
        t.is(replica.size, active.length);
        t.is([...replica.all()].length, active.length);
        for (const group of GROUPS)
          t.is(replica.group(group).size, active.filter(({ body }) => body.group === group).length);
        for (const organisationId of ORGANISATIONS) {
          const own = active.filter((one) => one.organisationId === organisationId);
          t.deepEqual([...replica.of(organisationId).keys()].sort(), own.map(({ id }) => id).sort());
          for (const id of IDS) {
            const now = own.find((one) => one.id === id);
            t.is(replica.get(organisationId, id)?.version, now?.version);
            for (let half = 0; half < 5; half++) {
              const found = replica.find(organisationId, `${id}-${half}`);
              t.is(found?.version, now?.slug === `${id}-${half}` ? now.version : undefined);
            }
          }
        }
      }
    }),
    { numRuns: 100 },
  );
});

test('a name that went to another document stays there when its former holder goes', (t) => {
  const replica = replicaOfThings();
  const first: Heard = {
    id: 'a',
    organisationId: 'o',
    version: 1,
    status: 'active',
    slug: 's',
    body: { group: 'g' },
  };
  replica.apply(document(first));
  replica.apply(document({ ...first, id: 'b' }));
  replica.apply(document({ ...first, version: 2, status: 'archived' }));
  t.is(replica.named('o', 's')?.id, 'b');
  t.is(replica.find('p', 's'), undefined);
});
