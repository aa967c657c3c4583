// What noting calls in flight costs: a line before the attempt, a line with the entry, for so many calls of one turn of the
// event loop. node test/bench/flights.ts [CALLS] prints microseconds of CPU a call, the waits on both included.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Call } from '../../src/call/call.ts';
import { InFlightJournal } from '../../src/ledger/flight/in-flight-journal.ts';
import { encodeEntry } from '../../src/store/log/entry-text.ts';
import { logEntry } from '../store/log-entries.ts';
import { callWith } from '../support/calls.ts';

const CALLS = Number(process.argv[2] ?? 200_000);
const ROUNDS = 60;
const USAGE = { promptTokens: 120, completionTokens: 48, totalTokens: 168 };

function callOf(): Call {
  const [organisationId, workspaceId, keyId] = [randomUUID(), randomUUID(), randomUUID()];
  return callWith({
    id: randomUUID(),
    principal: { organisationId, workspaceId, keyId },
    members: { traceId: randomUUID() },
  });
}

async function run(together: number, noted: boolean): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-flights-'));
  const flights = new InFlightJournal({
    folder,
    onTrouble: (error) => console.error(error),
    onLost: () => undefined,
  });
  const calls = Array.from({ length: 512 }, callOf);
  const entries = calls.map(({ id, traceId }) => {
    const { attempts, ...entry } = logEntry({ id, traceId, metadata: {} });
    return { ...entry, attempts: attempts.map((one) => ({ ...one, id: randomUUID(), usage: USAGE })) };
  });
  let position = 0;
  const one = async (number: number): Promise<void> => {
    const call = calls[number % calls.length] as Call;
    if (noted)
      await flights.attempt(call, {
        id: call.id,
        provider: 'openai',
        host: 'api.openai.com',
        model: 'gpt-4o-mini',
        startedAt: call.arrivedAt,
        input: 120,
        output: 1024,
      });
    else await turn();
    const entry = entries[number % entries.length] as (typeof entries)[number];
    if (noted) await flights.ended(call, encodeEntry(entry), ++position);
    else await turn();
    if (position % 1000 === 0) flights.passed(position);
  };
  const all = async (count: number): Promise<void> => {
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < count) await one(next++);
    };
    await Promise.all(Array.from({ length: together }, lane));
  };
  await all(CALLS / ROUNDS);
  let best = Number.POSITIVE_INFINITY;
  // The best of several rounds: neighbours on the machine only ever add.
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    await all(CALLS / ROUNDS);
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, ((user + system) / CALLS) * ROUNDS);
  }
  flights.close();
  rmSync(folder, { recursive: true, force: true });
  return best;
}

let waiting: Promise<void> | undefined;

/** As a call's wait without a note. */
function turn(): Promise<void> {
  waiting ??= new Promise((resolve) => {
    setImmediate(() => {
      waiting = undefined;
      resolve();
    });
  });
  return waiting;
}

for (const together of [1, 4, 8, 16, 32]) {
  const [without, noted] = [await run(together, false), await run(together, true)];
  console.log(
    `${String(together).padStart(3)} calls a turn: ${(noted - without).toFixed(2)} us for the notes, ${noted.toFixed(2)} us with the turn of the loop`,
  );
}
