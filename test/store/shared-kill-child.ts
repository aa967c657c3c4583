// Holds, settles and appends to the journal of a directory until it is killed; says on stdout what was acknowledged.
import { openMemoryState } from '../../src/store/memory/open-memory.ts';

const [dataDir = '', org = ''] = process.argv.slice(2);
const state = await openMemoryState({ dataDir });

const calling = async (lane: number): Promise<never> => {
  for (let i = 0; ; i++) {
    const id = `${lane}-${i}`;
    const limits = [
      { kind: 'budget', key: 'b', amount: 10n } as const,
      { kind: 'slots', key: 's', limit: 1000 } as const,
      { kind: 'window', key: 'w', limit: 1_000_000, windowMs: 60_000, cost: 1 } as const,
    ];
    await state.admit(org, { limits, hold: { id, owner: 'o', leaseMs: 3_600_000, note: id } });
    process.stdout.write(`admit ${id}\n`);
    if (i % 4 === 3) continue;
    await state.settle(org, { id, charges: [{ key: 'b', amount: 3n }], entry: { id, data: id } });
    process.stdout.write(`settle ${id}\n`);
  }
};
const appending = async (): Promise<never> => {
  for (let i = 0; ; i++) {
    const entries = Array.from({ length: 5 }, (_, n) => ({ id: `j-${i}-${n}`, data: `${i}` }));
    await state.appendJournal(org, { entries, maxLength: 1_000_000 });
    process.stdout.write(`append ${i}\n`);
  }
};
await Promise.all([calling(0), calling(1), calling(2), appending()]);
