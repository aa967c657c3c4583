// Writes to the store of a directory until it is killed, and says on stdout what was acknowledged.
import { insertOperation, updateOperation } from '../../src/store/documents.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { heads, widgets } from './documents.contract.ts';
import { logEntry } from './log-entries.ts';

/** Of each log batch. */
const BATCH = 20;

const [dataDir = '', round = '', mode = 'write'] = process.argv.slice(2);
const scope = { organisationId: `round-${round}`, workspaceId: undefined };

function acknowledge(what: string): void {
  process.stdout.write(`${what}\n`);
}

async function write(): Promise<void> {
  const { documents, requestLog } = await openSqliteStore({ dataDir, collections: [widgets, heads] });
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
  const outcome = await openSqliteStore({ dataDir, collections: [widgets, heads] }).then(
    () => 'opened',
    (error: Error) => `refused: ${error.message}`,
  );
  process.stdout.write(`${outcome}\n`, () => process.exit(0));
}

await (mode === 'intrude' ? intrude() : write());
