// The parts of a data folder: each is of its store, or nothing starts and nothing is changed.
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { acceptLoss } from '../../src/store/data-folder/accept-loss.ts';
import { guardParts, PartsError } from '../../src/store/data-folder/guard.ts';
import type { Part } from '../../src/store/data-folder/parts.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { traffic } from './random-log.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-parts-'));
test.after.always(() => rmSync(root, { recursive: true, force: true }));
let folders = 0;
const ALL: readonly Part[] = ['logs', 'exports', 'flights', 'state.db', 'encryption.key'];

/** A store that ran once: a log in segments, state, an encryption key that opens something. */
async function ranOnce(parts: readonly Part[] = ALL): Promise<string> {
  const dataDir = join(root, String(folders++));
  const store = await openSqliteStore({
    dataDir,
    collections: [],
    ...(parts.length > 0 && { parts }),
    logBounds: { block: 20 },
  });
  writeFileSync(join(dataDir, 'encryption.key'), 'a key');
  const state = await openMemoryState({ dataDir });
  await store.requestLog.append(Array.from({ length: 60 }, traffic(6, 'o').entry));
  await store.makeRollups();
  await state.close();
  await store.close();
  const database = new DatabaseSync(join(dataDir, 'sluice.db'));
  database.exec(
    'CREATE TABLE IF NOT EXISTS c_encryption_keys (seq INTEGER); INSERT INTO c_encryption_keys VALUES (1)',
  );
  database.close();
  if (parts.length > 0) guardParts(dataDir, parts);
  return dataDir;
}

/** All names and bytes below a folder, but for what SQLite keeps of open connections. */
function everything(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && !/-(wal|shm)$/.test(entry.name))
      found[join(entry.parentPath, entry.name)] = readFileSync(join(entry.parentPath, entry.name), 'base64');
  return found;
}

function refuses(t: ExecutionContext, dataDir: string, part: string, why: RegExp): void {
  const before = everything(dataDir);
  const error = t.throws(() => guardParts(dataDir, ALL), { instanceOf: PartsError });
  t.deepEqual(
    error.troubles.map((trouble) => trouble.part),
    [part as Part],
  );
  t.regex(error.message, why);
  t.true(error.message.includes(`sluice accept-loss ${part} --data-dir ${dataDir}`), error.message);
  t.deepEqual(everything(dataDir), before, 'nothing was changed');
}

for (const part of ['logs', 'state.db', 'exports', 'flights', 'encryption.key', 'sluice.db'] as const) {
  test(`${part}: missing stops the start; back again, all is there; its loss can be accepted`, async (t) => {
    const dataDir = await ranOnce();
    const whole = everything(dataDir);
    const [here, away] = [join(dataDir, part), join(root, `away-${folders++}`)];
    renameSync(here, away);
    refuses(t, dataDir, part, /is missing/);
    renameSync(away, here);
    t.notThrows(() => guardParts(dataDir, ALL));
    t.deepEqual(Object.keys(everything(dataDir)).sort(), Object.keys(whole).sort());
    rmSync(here, { recursive: true });
    t.true(acceptLoss(dataDir, part).length > 0);
    t.notThrows(() => guardParts(dataDir, ALL));
    const store = await openSqliteStore({ dataDir, collections: [], parts: ALL });
    t.is(store.damaged?.(), 0);
    await store.close();
    if (part !== 'sluice.db') return;
    const kept = readdirSync(join(dataDir, 'lost+found'));
    for (const other of ['logs', 'state.db', 'exports', 'flights'])
      t.true(
        kept.some((name) => name.endsWith(`-${other}`)),
        `${other} is kept in lost+found`,
      );
  });
}

for (const part of ['logs', 'state.db', 'exports', 'flights'] as const) {
  test(`${part} of another store stops the start, and is moved to lost+found when accepted`, async (t) => {
    const [dataDir, other] = [await ranOnce(), await ranOnce()];
    rmSync(join(dataDir, part), { recursive: true });
    cpSync(join(other, part), join(dataDir, part), { recursive: true });
    refuses(t, dataDir, part, /belongs to another store/);
    acceptLoss(dataDir, part);
    t.true(readdirSync(join(dataDir, 'lost+found')).some((name) => name.endsWith(`-${part}`)));
    t.notThrows(() => guardParts(dataDir, ALL));
  });
}

test('an empty folder in the place of a part is not taken for it', async (t) => {
  const dataDir = await ranOnce();
  for (const name of readdirSync(join(dataDir, 'logs'))) rmSync(join(dataDir, 'logs', name));
  refuses(t, dataDir, 'logs', /has lost its id: it is empty/);
});

test('a part that cannot be read is named', async (t) => {
  const dataDir = await ranOnce();
  writeFileSync(
    join(dataDir, 'state.db'),
    'no database at all, but long enough to be taken for one'.repeat(100),
  );
  refuses(t, dataDir, 'state.db', /cannot be read/);
  const other = await ranOnce();
  writeFileSync(
    join(other, 'sluice.db'),
    'no database at all, but long enough to be taken for one'.repeat(100),
  );
  refuses(t, other, 'sluice.db', /cannot be read/);
  // What the system says of a folder that is closed to the process, or on a bad disk, is no loss.
  const closed = await ranOnce();
  const mark = join(closed, 'logs', 'store.id');
  rmSync(mark);
  symlinkSync(mark, mark);
  refuses(t, closed, 'logs', /cannot be read \(ELOOP/);
});

test('a folder of before there were ids is adopted whole, and refused with its log or its state away', async (t) => {
  const dataDir = await ranOnce([]);
  for (const part of ['logs', 'state.db', 'encryption.key'] as const) {
    const away = join(root, `away-${folders++}`);
    renameSync(join(dataDir, part), away);
    refuses(t, dataDir, part, part === 'logs' ? /none of the files/ : /is missing/);
    renameSync(away, join(dataDir, part));
  }
  t.notThrows(() => guardParts(dataDir, ALL));
  t.true(existsSync(join(dataDir, 'logs', 'store.id')));
  rmSync(join(dataDir, 'state.db'));
  refuses(t, dataDir, 'state.db', /is missing/);
});

test('a start that is killed between its steps goes on at the next', async (t) => {
  const dataDir = join(root, String(folders++));
  await (await openSqliteStore({ dataDir, collections: [], parts: ALL })).close();
  const database = new DatabaseSync(join(dataDir, 'sluice.db'));
  database.exec(`DELETE FROM store_parts WHERE part <> 'sluice.db'`);
  database.close();
  rmSync(join(dataDir, 'flights'), { recursive: true });
  t.notThrows(() => guardParts(dataDir, ALL));
  t.true(existsSync(join(dataDir, 'flights', 'store.id')));
});
