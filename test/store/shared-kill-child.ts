// Holds, settles and appends to the journal of a directory until it is killed; says on stdout what was acknowledged.
import { openMemoryState } from '../../src/store/memory/open-memory.ts';

const [dataDir = '', org = ''] = process.argv.slice(2);
const state = await openMemoryState({ dataDir });

/** Resolves when the line has left the process: what waits in memory for a slow reader is lost by a kill. */
const say = (line: string): Promise<void> =>
  new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()));

const calling = async (lane: number): Promise<never> => {
  for (let i = 0; ; i++) {
    const id = `${lane}-${i}`;
    const limits = [
      { kind: 'budget', key: 'b', amount: 10n } as const,
      { kind: 'slots', key: 's', limit: 1000 } as const,
      { kind: 'window', key: 'w', limit: 1_000_000, windowMs: 60_000, cost: 1 } as const,
    ];
    await state.admit(org, { limits, hold: { id, owner: 'o', leaseMs: 3_600_000, note: id } });
    await say(`admit ${id}`);
    if (i % 4 === 3) continue;
    await state.settle(org, { id, charges: [{ key: 'b', amount: 3n }], entry: { id, data: id } });
    await say(`settle ${id}`);
  }
};
const appending = async (): Promise<never> => {
  for (let i = 0; ; i++) {
    const entries = Array.from({ length: 5 }, (_, n) => ({ id: `j-${i}-${n}`, data: `${i}` }));
    await state.appendJournal(org, { entries, maxLength: 1_000_000 });
    await say(`append ${i}`);
  }
};
await Promise.all([calling(0), calling(1), calling(2), appending()]);
