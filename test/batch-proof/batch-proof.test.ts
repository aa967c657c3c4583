// A batch whose gateway is killed, in short. The long run is node test/batch-proof/proof.ts.
import test from 'ava';
import { faultsOf } from './faults.ts';
import { proveBatch } from './run.ts';

test.serial(
  'a batch goes on unasked after kill -9: each row is answered once, extra calls are in the books',
  async (t) => {
    t.timeout(300_000);
    const [rows, atOnce] = [400, 8];
    const proof = await proveBatch({
      rows,
      atOnce,
      kills: 2,
      killEverySeconds: 2,
      rowMs: 100,
      say: (line) => t.log(line),
    });
    t.deepEqual(faultsOf(proof, rows, atOnce), []);
  },
);
