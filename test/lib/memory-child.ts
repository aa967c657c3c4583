// Makes garbage of 200 MB as a burst of calls does, then idles: node test/lib/memory-child.ts. Says "given back" when the
// heap is small again.
import { setTimeout as sleep } from 'node:timers/promises';
import { giveMemoryBackWhenIdle } from '../../src/lib/idle-memory.ts';

const MB = 2 ** 20;
if (process.argv[2] !== 'without') giveMemoryBackWhenIdle(100 * 2 ** 20, 2);
let kept: string[][] = [];
for (let i = 0; i < 40; i++) {
  kept.push(Array.from({ length: 500 }, (_, n) => `${i} ${n} `.repeat(1500).split('').reverse().join('')));
  if (kept.length > 15) kept = kept.slice(8);
  await sleep(5);
}
const { heapTotal: before } = process.memoryUsage();
kept = [];
for (const until = performance.now() + 40_000; performance.now() < until; ) {
  await sleep(200);
  if (process.memoryUsage().heapTotal < before / 3) {
    process.stdout.write(`given back: ${Math.round(before / MB)} MB before\n`);
    process.exit(0);
  }
}
process.stdout.write(`kept ${process.memoryUsage().heapTotal / MB} MB of ${before / MB} MB\n`);
process.exit(1);
