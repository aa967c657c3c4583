// A batch of 10,000 rows at a gateway that is killed every 20 seconds.
//   node test/batch-proof/proof.ts [--rows N] [--kill-every SECONDS] [--row-ms N]
// Prints what was found; the exit code is 1 on any difference.
import { parseArgs } from 'node:util';
import { faultsOf } from './faults.ts';
import { proveBatch } from './run.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000' },
    'kill-every': { type: 'string', default: '20' },
    'row-ms': { type: 'string', default: '100' },
  },
});
const [rows, atOnce] = [Number(values.rows), 16];
const proof = await proveBatch({
  rows,
  atOnce,
  kills: Number.POSITIVE_INFINITY,
  killEverySeconds: Number(values['kill-every']),
  rowMs: Number(values['row-ms']),
  say: (line) => console.log(line),
});
const faults = faultsOf(proof, rows, atOnce);
for (const fault of faults) console.log(fault);
console.log(faults.length === 0 ? 'all holds' : 'it does not hold');
process.exitCode = faults.length === 0 ? 0 : 1;
