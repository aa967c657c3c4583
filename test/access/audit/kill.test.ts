// A process that is killed leaves no change without its entry, no entry without its change, and a whole chain.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { auditEntries } from '../../../src/access/audit/entry.ts';
import { verifyChain } from '../../../src/access/audit/verify.ts';
import type { Collection } from '../../../src/store/collection.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';
import { killCollections, things } from './kill-things.ts';

const CHILD = fileURLToPath(new URL('./kill-child.ts', import.meta.url));
const scope = { organisationId: 'org', workspaceId: undefined };

/** Runs a writer, kills it after this many acknowledged changes, and answers those. */
async function killedAfter(dataDir: string, count: number): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const chunk of child.stdout) {
    text += String(chunk);
    if (text.split('\n').length > count) child.kill('SIGKILL');
  }
  return text.split('\n').slice(0, -1);
}

test('kill -9 under writers', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-audit-kill-'));
  const acknowledged: string[] = [];
  for (const count of [40, 90]) acknowledged.push(...(await killedAfter(dataDir, count)));
  const store = await openSqliteStore({ dataDir, collections: killCollections });
  const all = async <B extends object>(collection: Collection<B>, idOf: (body: B) => string) => {
    const ids = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await store.documents.page(scope, collection, {
        pageSize: 1000,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const { body } of page.documents) ids.add(idOf(body));
      cursor = page.nextCursor;
      if (cursor === undefined) return ids;
    }
  };
  const made = await all(things, ({ name }) => name);
  const told = await all(auditEntries, ({ target }) => target.id);
  t.true(acknowledged.length >= 130);
  t.deepEqual(
    acknowledged.filter((id) => !made.has(id)),
    [],
  );
  t.deepEqual([...made].sort(), [...told].sort());
  const proof = await verifyChain(store.documents, 'org');
  t.is(proof.break, undefined);
  t.is(proof.entries, made.size);
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});
