// A thread that allocates and rests. Prints the bytes of its young generation after the busy time, and at the end.
import { shrinkYoungWhenIdle, youngBytes } from '../../src/lib/shrink-young.ts';

const WAIT_MS = 100_000;

const kept: object[] = [];
for (let i = 0; i < 400_000; i++) kept.push({ i, of: [i] });
const busy = youngBytes();
const stop = shrinkYoungWhenIdle();
const until = performance.now() + WAIT_MS;
const timer = setInterval(() => {
  if (youngBytes() >= busy / 4 && performance.now() < until) return;
  clearInterval(timer);
  stop();
  process.stdout.write(JSON.stringify({ busy, rested: youngBytes(), kept: kept.length }));
}, 100);
