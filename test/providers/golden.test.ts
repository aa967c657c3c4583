// Every folder under golden/<dialect>/ is one case; see support/golden.ts for its files.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import test from 'ava';
import { GoldenCase } from './support/golden.ts';
import { cuts, pieces, seeded } from './support/random.ts';

const ROOT = path.join(import.meta.dirname, 'golden');
const ROUNDS = 40;

for (const dialect of readdirSync(ROOT)) {
  for (const name of readdirSync(path.join(ROOT, dialect))) {
    test(`${dialect}: ${name}`, (t) => {
      const golden = new GoldenCase(path.join(ROOT, dialect, name), dialect);
      const bytes = golden.streamBytes();
      const lost = golden.lost();
      if (lost.length > 0) t.deepEqual(lost, golden.expected('lost.json', lost));
      if (bytes === undefined || golden.has('provider-request.json')) {
        const actual = golden.wholeRequest();
        t.deepEqual(actual, golden.expected('provider-request.json', actual));
      }
      if (bytes !== undefined) {
        const actual = golden.streamRequest();
        t.deepEqual(actual, golden.expected('stream-request.json', actual));
        const whole = golden.stream([bytes]);
        t.deepEqual(whole, golden.expected('chunks.json', whole));
        const told = golden.told([bytes]);
        const check = (made: () => Iterable<Uint8Array>, how: string): void => {
          if (golden.told(made()) !== told) t.deepEqual(golden.stream(made()), whole, how);
        };
        for (let round = 0; round < ROUNDS; round += 1) {
          const mean = [1, 3, 20, 200][round % 4] as number;
          check(() => pieces(bytes, seeded(round), mean), `cut with seed ${round}`);
        }
        for (const at of cuts(bytes))
          check(() => [bytes.subarray(0, at), bytes.subarray(at)], `cut behind byte ${at}`);
      }
      if (golden.answerFile() !== undefined) {
        const actual = golden.whole();
        t.deepEqual(actual, golden.expected('response.json', actual));
      }
      for (const { file, status } of golden.errors()) {
        const actual = golden.dialect.error(status, golden.bytes(file));
        t.deepEqual(actual, golden.expected(`expected-${status}.json`, actual));
      }
    });
  }
}
