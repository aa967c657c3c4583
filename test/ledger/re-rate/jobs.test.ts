// Runs of re-rating that are asked for over the API: one at a time, ended with the gateway, and told of when they fail.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openPriceList } from '../../../src/ledger/prices/price-list.ts';
import { type Commit, createReRateJobs, isLost } from '../../../src/ledger/re-rate/jobs.ts';
import { LEASE_MS } from '../../../src/ledger/re-rate/re-rate.ts';
import { reRateCollections } from '../../../src/ledger/re-rate/run.ts';
import { openMemoryState } from '../../../src/store/memory/open-memory.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite.ts';
import { logModel } from '../../store/log-model.ts';
import { until } from '../../support/limits-client.ts';

const ORG = 'org-1';
const SPAN = { from: 1, until: 2 };

async function world(t: ExecutionContext, flush: () => Promise<void>) {
  const troubles: unknown[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'sluice-re-rate-'));
  const { documents, close } = await openSqliteStore({
    dataDir: folder,
    collections: [...reRateCollections],
  });
  const state = await openMemoryState({ dataDir: folder });
  t.teardown(async () => {
    await state.close();
    await close();
    rmSync(folder, { recursive: true, force: true });
  });
  const commit: Commit = (operation) =>
    documents.commit({ organisationId: ORG, workspaceId: undefined }, [operation]);
  const facts = () => ({
    log: logModel(),
    state,
    documents,
    prices: openPriceList(),
    now: Date.now,
    countsSince: async () => 0,
    finish: (_: string, __: unknown, operation: Parameters<Commit>[0]) =>
      commit(operation, {} as Parameters<Commit>[1]),
  });
  const jobs = createReRateJobs({ deps: facts, flush, onTrouble: (error) => void troubles.push(error) });
  const ended = () =>
    until(
      async () => (await jobs.read(ORG))?.body as unknown as Record<string, unknown>,
      ({ state: own }) => own !== 'running',
    );
  return { jobs, commit, ended, troubles };
}

test('one run at a time, dry ones too, and the next one when it has ended', async (t) => {
  let go = (): void => {};
  const { jobs, commit, ended } = await world(t, () => new Promise((resolve) => (go = resolve)));
  t.is(await jobs.read(ORG), undefined);
  const begun = await jobs.start(ORG, SPAN, false, commit);
  t.is(begun.body.state, 'running');
  for (const dryRun of [true, false])
    await t.throwsAsync(jobs.start(ORG, SPAN, dryRun, commit), { message: /re-rated already/ });
  go();
  t.like(await ended(), { state: 'done', entries: 0, dryRun: false });
  await until(
    async () => ({ made: await jobs.start(ORG, SPAN, true, commit).catch(() => undefined) }),
    ({ made }) => made !== undefined,
  );
  go();
  t.like(await ended(), { state: 'done', dryRun: true });
});

test('a run that fails says why, and one that was lost is told from one that runs', async (t) => {
  const { jobs, commit, ended, troubles } = await world(t, () =>
    Promise.reject(new Error('a secret of the store')),
  );
  const begun = await jobs.start(ORG, SPAN, false, commit).catch(() => undefined);
  t.truthy(begun);
  const body = await ended();
  t.is(body.state, 'failed');
  t.notRegex(String(body.error), /secret/);
  t.is(troubles.length, 1, 'it is logged');
  if (begun) {
    t.false(isLost(begun, begun.updatedAt + LEASE_MS));
    t.true(isLost(begun, begun.updatedAt + LEASE_MS + 1));
  }
});
