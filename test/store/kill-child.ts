// Writes to a store until it is killed, and says on stdout what was acknowledged. The store is a directory's or,
// where an address of MongoDB and the database's name are given as `address#name`, a server's.
import { insertOperation, updateOperation } from '../../src/store/documents.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { heads, widgets } from './documents.contract.ts';
import { logEntry } from './log-entries.ts';

/** Of each log batch. */
const BATCH = 20;

/** Small blocks: the log is sealed all the time. */
const LOG_BOUNDS = { block: 100 };

const [place = '', round = '', mode = 'write'] = process.argv.slice(2);
const scope = { organisationId: `round-${round}`, workspaceId: undefined };

function acknowledge(what: string): void {
  process.stdout.write(`${what}\n`);
}

function open(): ReturnType<typeof openSqliteStore> {
  const collections = [widgets, heads];
  if (!place.startsWith('mongodb:'))
    return openSqliteStore({ dataDir: place, collections, logBounds: LOG_BOUNDS });
  const [uri = '', database = ''] = place.split('#');
  return openMongoStore({ uri, database, collections, deadlineMs: 20_000 });
}

/** Kept: the lock of a directory goes with its store when that is collected as garbage. */
let opened: Awaited<ReturnType<typeof open>> | undefined;
process.once('beforeExit', () => opened?.close());

async function write(): Promise<void> {
  opened = await open();
  const { documents, requestLog } = opened;
  await documents.insert(scope, heads, { id: 'head', createdAt: 1, body: { count: 0 } });
  acknowledge('head');

  const inserting = async (lane: number): Promise<never> => {
    for (let i = 0; ; i++) {
      const id = `single-${lane}-${i}`;
      await documents.insert(scope, widgets, { id, createdAt: i, body: { name: id, text: 'x'.repeat(300) } });
      acknowledge(id);
    }
  };
  const committing = async (): Promise<never> => {
    for (let i = 1; ; i++) {
      await documents.commit(scope, [
        insertOperation(widgets, { id: `left-${i}`, createdAt: i, body: { name: 'left' } }),
        updateOperation(heads, 'head', i, { body: { count: i }, updatedAt: i }),
        insertOperation(widgets, { id: `right-${i}`, createdAt: i, body: { name: 'right' } }),
      ]);
      acknowledge(`pair-${i}`);
    }
  };
  const logging = async (lane: number): Promise<never> => {
    for (let i = 0; ; i++) {
      const traceId = `batch-${lane}-${i}`;
      const entry = (_: unknown, n: number) =>
        logEntry({ id: `${traceId}-${n}`, traceId, createdAt: i, organisationId: scope.organisationId });
      await requestLog.append(Array.from({ length: BATCH }, entry));
      acknowledge(traceId);
    }
  };
  await Promise.all([
    inserting(0),
    inserting(1),
    inserting(2),
    inserting(3),
    committing(),
    logging(0),
    logging(1),
  ]);
}

/** Only tries to open, as a second process would. */
async function intrude(): Promise<void> {
  const outcome = await open().then(
    () => 'opened',
    (error: Error) => `refused: ${error.message}`,
  );
  process.stdout.write(`${outcome}\n`, () => process.exit(0));
}

try {
  await (mode === 'intrude' ? intrude() : write());
} catch (error) {
  // Its server was killed, as a test may.
  if (place.startsWith('mongodb:')) process.exit(1);
  throw error;
}
