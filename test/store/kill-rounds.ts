// A child process that writes until it is killed, and what must be there afterwards.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import type { DocumentStore } from '../../src/store/documents.ts';
import type { RequestLogStore } from '../../src/store/request-log.ts';
import { heads, widgets } from './documents.contract.ts';

/** How often the kill tests kill. */
export const ROUNDS = Number(process.env.SLUICE_KILL_ROUNDS ?? 5);
/** Entries of each log batch that the child appends. */
const BATCH = 20;

interface Stores {
  readonly documents: DocumentStore;
  readonly requestLog: RequestLogStore;
}

const CHILD = fileURLToPath(new URL('./kill-child.ts', import.meta.url));

export interface Child {
  readonly lines: string[];
  /** Kills it and waits until it is gone and all that it said is read. */
  kill(): Promise<void>;
  /** Resolves at its first line. */
  readonly begun: Promise<unknown>;
  readonly ended: Promise<unknown>;
}

/** Starts a child on a store: its place, its round, what it does. */
export function startChild(...args: string[]): Child {
  const child = spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  const ended = once(reader, 'close');
  const begun = Promise.race([once(reader, 'line'), ended]);
  reader.on('line', (line) => lines.push(line));
  return {
    lines,
    begun,
    ended,
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function allOf<T>(page: (page: number) => Promise<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for (let number = 0; ; number++) {
    const found = await page(number);
    all.push(...found);
    if (found.length < 1000) return all;
  }
}

/** Fails when something that was acknowledged is lost, or something is half done. */
export async function verifyRound(
  t: ExecutionContext,
  store: Stores,
  round: number,
  lines: readonly string[],
): Promise<void> {
  const scope = { organisationId: `round-${round}`, workspaceId: undefined };
  const documents = await allOf(
    async (page) => (await store.documents.page(scope, widgets, { pageSize: 1000, page })).documents,
  );
  const ids = new Set(documents.map((document) => document.id));
  const head = await store.documents.get(scope, heads, 'head');
  const count = head?.body.count ?? -1;
  const entries = await allOf(
    async (page) => (await store.requestLog.page(scope, {}, { page, pageSize: 1000, order: 'asc' })).entries,
  );
  const batches = new Map<string, number>();
  for (const { traceId } of entries) batches.set(traceId, (batches.get(traceId) ?? 0) + 1);

  const lost = lines.filter((line) => {
    if (line.startsWith('single-')) return !ids.has(line);
    if (line.startsWith('pair-')) return Number(line.slice(5)) > count;
    if (line.startsWith('batch-')) return !batches.has(line);
    return count < 0;
  });
  t.deepEqual(lost, [], 'acknowledged and lost');
  for (const side of ['left', 'right']) {
    t.is([...ids].filter((id) => id.startsWith(side)).length, count, 'half a commit');
    for (let i = 1; i <= count; i++) t.true(ids.has(`${side}-${i}`));
  }
  t.is(head?.version, count + 1);
  t.deepEqual(
    [...batches.values()].filter((size) => size !== BATCH),
    [],
    'half a batch',
  );
}
