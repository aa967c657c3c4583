// The proof of a chain names the first thing that somebody did to the database behind the gateway's back.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { createChain } from '../../../src/access/audit/chain.ts';
import { createChanges } from '../../../src/access/audit/changes.ts';
import { type AuditEntryBody, auditEntries, auditHeads, hashOf } from '../../../src/access/audit/entry.ts';
import { type ChainBreak, verifyChain } from '../../../src/access/audit/verify.ts';
import { Aborter } from '../../../src/lib/abort.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';
import { callBy, freshOrganisation } from './calls.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-verify-'));
const opened = openSqliteStore({ dataDir, collections: [auditEntries, auditHeads] });
let database: DatabaseSync;
test.before(async () => {
  await opened;
  database = new DatabaseSync(join(dataDir, 'sluice.db'), { timeout: 5000 });
});
test.after.always(async () => {
  database?.close();
  await (await opened).close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** An organisation with a chain of entries. */
async function chainOf(count: number): Promise<string> {
  const { documents } = await opened;
  const organisationId = freshOrganisation();
  const changes = createChanges(createChain({ documents }), { now: Date.now, addressOf: () => '' });
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      changes.commit(callBy(organisationId), { organisationId, workspaceId: undefined }, [], {
        id: `thing-${i}`,
        name: `Thing ${i}`,
        after: { size: i },
      }),
    ),
  );
  return organisationId;
}

async function proofOf(organisationId: string, anchor?: { sequence: number; hash: string }) {
  return verifyChain((await opened).documents, organisationId, anchor);
}

/** Changes an entry's body by hand. */
function rewrite(organisationId: string, sequence: number, change: (body: AuditEntryBody) => object): void {
  const where = 'WHERE organisation_id = ? AND f_sequence = ?';
  const row = database
    .prepare(`SELECT body FROM c_audit_entries ${where}`)
    .get(organisationId, sequence) as unknown as { body: string };
  const body = JSON.stringify(change(JSON.parse(row.body) as AuditEntryBody));
  database.prepare(`UPDATE c_audit_entries SET body = ? ${where}`).run(body, organisationId, sequence);
}

function remove(organisationId: string, condition: string): void {
  database
    .prepare(`DELETE FROM c_audit_entries WHERE organisation_id = ? AND ${condition}`)
    .run(organisationId);
}

function tampering(
  name: string,
  tamper: (organisationId: string) => void,
  expected: Pick<ChainBreak, 'sequence' | 'kind'> & { readonly entries: number },
): void {
  test(name, async (t) => {
    const organisationId = await chainOf(10);
    tamper(organisationId);
    const proof = await proofOf(organisationId);
    const { sequence, kind } = proof.break ?? { sequence: 0, kind: 'none' };
    t.deepEqual({ sequence, kind, entries: proof.entries }, expected);
  });
}

test('a chain that nobody touched holds, and so does one without entries', async (t) => {
  const organisationId = await chainOf(450);
  const proof = await proofOf(organisationId);
  t.is(proof.break, undefined);
  t.is(proof.entries, 450);
  t.is(proof.sequence, 450);
  t.regex(proof.hash, /^[0-9a-f]{64}$/);
  t.deepEqual(await proofOf(freshOrganisation()), { entries: 0, sequence: 0, hash: '', break: undefined });
});

tampering(
  'an entry that was changed',
  (org) => rewrite(org, 4, (body) => ({ ...body, target: { ...body.target, name: 'Another' } })),
  { sequence: 4, kind: 'hash', entries: 3 },
);
tampering(
  'an entry that was changed and given its right hash',
  (org) =>
    rewrite(org, 4, (body) => {
      const changed = { ...body, outcome: 'refused' as const };
      return { ...changed, hash: hashOf(changed) };
    }),
  { sequence: 5, kind: 'link', entries: 4 },
);
tampering(
  'the last entry, changed and given its right hash',
  (org) =>
    rewrite(org, 10, (body) => {
      const changed = { ...body, detail: 'x' };
      return { ...changed, hash: hashOf(changed) };
    }),
  { sequence: 10, kind: 'head', entries: 10 },
);
tampering(
  'an entry whose time was changed beside its body',
  (org) =>
    void database
      .prepare('UPDATE c_audit_entries SET created_at = 5 WHERE organisation_id = ? AND f_sequence = 2')
      .run(org),
  { sequence: 2, kind: 'hash', entries: 1 },
);
tampering('an entry from the middle that is gone', (org) => remove(org, 'f_sequence = 6'), {
  sequence: 6,
  kind: 'gap',
  entries: 5,
});
tampering('the first entry that is gone', (org) => remove(org, 'f_sequence = 1'), {
  sequence: 1,
  kind: 'gap',
  entries: 0,
});
tampering('the last entry that is gone', (org) => remove(org, 'f_sequence = 10'), {
  sequence: 10,
  kind: 'truncated',
  entries: 9,
});
tampering('all entries that are gone', (org) => remove(org, 'true'), {
  sequence: 1,
  kind: 'truncated',
  entries: 0,
});
tampering(
  'an entry that was archived',
  (org) =>
    void database
      .prepare('UPDATE c_audit_entries SET archived = 1 WHERE organisation_id = ? AND f_sequence = 3')
      .run(org),
  { sequence: 3, kind: 'gap', entries: 2 },
);
tampering(
  'a head that is gone',
  (org) => void database.prepare('DELETE FROM c_audit_heads WHERE organisation_id = ?').run(org),
  { sequence: 10, kind: 'head', entries: 10 },
);
tampering(
  'a head that was set back',
  (org) => {
    const body = database
      .prepare('SELECT body FROM c_audit_entries WHERE organisation_id = ? AND f_sequence = 8')
      .get(org) as unknown as { body: string };
    const { hash } = JSON.parse(body.body) as AuditEntryBody;
    database
      .prepare('UPDATE c_audit_heads SET body = ? WHERE organisation_id = ?')
      .run(JSON.stringify({ sequence: 8, hash }), org);
  },
  { sequence: 10, kind: 'head', entries: 10 },
);

test('entries that are written while it walks are no break', async (t) => {
  const { documents } = await opened;
  const organisationId = await chainOf(300);
  const changes = createChanges(createChain({ documents }), { now: Date.now, addressOf: () => '' });
  const writing = Array.from({ length: 100 }, (_, i) =>
    changes.commit(callBy(organisationId), { organisationId, workspaceId: undefined }, [], {
      id: `late-${i}`,
      name: '',
    }),
  );
  const proofs = await Promise.all([1, 2, 3].map(() => proofOf(organisationId)));
  await Promise.all(writing);
  for (const proof of proofs) {
    t.is(proof.break, undefined);
    t.true(proof.entries >= 300);
  }
});

test('an entry that was noted elsewhere is where the proof begins, and must be the same', async (t) => {
  const organisationId = await chainOf(10);
  const { documents } = await opened;
  const page = await documents.page({ organisationId, workspaceId: undefined }, auditEntries, {
    pageSize: 10,
  });
  const { sequence, hash } = page.documents[6]!.body;
  const proof = await proofOf(organisationId, { sequence, hash });
  t.like(proof, { entries: 4, sequence: 10, break: undefined });
  const other = await proofOf(organisationId, { sequence, hash: '0'.repeat(64) });
  t.like(other.break, { sequence: 7, kind: 'anchor' });
  const beyond = await proofOf(organisationId, { sequence: 99, hash });
  t.like(beyond.break, { sequence: 99, kind: 'anchor' });
  // The whole chain taken away, head and all: only who noted something can tell.
  remove(organisationId, 'true');
  database.prepare('DELETE FROM c_audit_heads WHERE organisation_id = ?').run(organisationId);
  t.is((await proofOf(organisationId)).break, undefined);
  t.like((await proofOf(organisationId, { sequence, hash })).break, { sequence: 7, kind: 'anchor' });
});

test('a head that was lost stays told, and the chain is proven from there on', async (t) => {
  const { documents } = await opened;
  const organisationId = await chainOf(3);
  const scope = { organisationId, workspaceId: undefined };
  database.prepare('DELETE FROM c_audit_heads WHERE organisation_id = ?').run(organisationId);
  const changes = createChanges(createChain({ documents }), { now: Date.now, addressOf: () => '' });
  for (const id of ['x', 'y']) await changes.commit(callBy(organisationId), scope, [], { id, name: '' });
  const proof = await proofOf(organisationId);
  t.like(proof, { entries: 3, break: { sequence: 4, kind: 'head' } });
  const page = await documents.page(scope, auditEntries, { pageSize: 10 });
  const { sequence, hash } = page.documents[3]!.body;
  t.like(await proofOf(organisationId, { sequence, hash }), { entries: 2, sequence: 5, break: undefined });
});

test('a walk ends when its caller leaves', async (t) => {
  const organisationId = await chainOf(3);
  const signal = new Aborter();
  signal.abort(new Error('left'));
  await t.throwsAsync(verifyChain((await opened).documents, organisationId, undefined, signal), {
    message: 'left',
  });
});
