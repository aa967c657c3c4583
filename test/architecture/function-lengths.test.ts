// A function fits a screen.
import test from 'ava';
import { functionsOf, measure } from './function-lengths.ts';

const MOST_LINES = 79;

/** Functions that are longer in one piece, by file and name, and why they are. */
const EXEMPT: Readonly<Record<string, string>> = {
  // Scripts of the shared state: a body and its Lua twin are compared line by line.
  'src/store/memory/admit.ts admitBody': 'the script that admits a call',
  'src/store/memory/journal.ts journalBodies': 'the scripts of the journal',
  'src/store/memory/rows.ts stateRows': 'the rows that the scripts write',
  'src/store/memory/windows.ts createWindows': 'the sliding windows of rates',
  'src/store/redis/settle.ts settleScript': 'the script that settles a call',
  // Algorithms whose parts share state that nothing else may reach.
  'src/access/audit/chain.ts createChain': 'the chain of the audit log: one writer, many waiting',
  'src/checks/sandbox/pool.ts createSandbox': 'the pool of sandboxes',
  'src/inference/cache/lookup.ts createCacheLookup': 'a lookup of the cache, from key to answer',
  'src/ledger/flight/open-in-flight-journal.ts openInFlightJournal': 'the in-flight journal',
  'src/ledger/request-log.ts createRequestLog': 'the write-behind of the request log',
  'src/store/change-feed.ts openChangeFeed': 'the change feed',
  'src/store/follow.ts follow': 'following a change feed without a gap',
  'src/store/mongo/log/row-bytes.ts rowBytes': 'a document of the log as BSON bytes',
  'src/store/sqlite/log/reader.ts openLogReader': 'the reader thread of the embedded log',
  'src/store/sqlite/worker-client.ts startWorker': "a worker's calls: deadlines, bounded queue, restarts",
  'src/store/sqlite/writer.ts openWriter': 'the writer thread: group commit',
  'src/store/memory/worker.ts openState': 'the thread of the embedded shared state',
  // Each call passes here: what is read once per method or per listener is kept in a closure.
  'src/checks/runner/guardrail-runner.ts createGuardrailRunner': 'the runner of guardrails',
  'src/edge/listener.ts createListener': 'the listener of the one port',
  'src/rpc/interceptors/limits.ts limitsInterceptor': 'the stage of limits',
  'src/store/mongo/documents.ts mongoDocuments': 'the document port over MongoDB, a call each',
  // The composition root: a list of what is opened, in order.
  'src/app.ts startApp': 'opens and closes everything',
  'src/app/batch-rows.ts rowCalls': 'rows of batches as calls',
  'src/app/open-edge.ts openEdge': 'the edge',
  'src/app/open-ledger.ts openLedger': 'the ledger',
  'src/app/open-mcp.ts openMcp': 'the MCP gateway',
  'src/app/workers/primary.ts runWorkers': 'the processes that share the port',
};

test('no function has 80 lines', (t) => {
  const functions = functionsOf('src');
  t.true(functions.length > 5000, 'functions are found');
  const long = functions.filter(({ lines }) => lines > MOST_LINES).map(({ name }) => name);
  t.deepEqual([...new Set(long)].sort(), Object.keys(EXEMPT).sort());
});

test('a function has the lines of the functions within it', (t) => {
  const text = [
    'export function outer(): void {',
    '  const inner = (a: number): number => {',
    '    return a;',
    '  };',
    '  inner(1);',
    '}',
  ].join('\n');
  t.deepEqual(
    measure('a.ts', text).sort((a, b) => a.lines - b.lines),
    [
      { name: 'a.ts outer', lines: 3 },
      { name: 'a.ts outer', lines: 6 },
    ],
  );
});
