// The young generation of a thread that rests is small again. V8's own task for that is off, so that it is this that does it.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';

const CHILD = new URL('./shrink-young-child.ts', import.meta.url).pathname;
const MB = 2 ** 20;

async function once(): Promise<{ readonly busy: number; readonly rested: number }> {
  const flags = ['--no-memory-reducer', '--max-semi-space-size=32'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, CHILD]);
  return JSON.parse(stdout);
}

test('it shrinks while the event loop is idle', async (t) => {
  t.timeout(200_000);
  const { busy, rested } = await once();
  t.true(busy >= 16 * MB, `${busy}`);
  t.true(rested <= busy / 4, `${rested} of ${busy}`);
});
