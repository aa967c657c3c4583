// A data folder whose disk is full under calls: a small tmpfs where this process may mount one.
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { call, listed, readiness } from '../data-folders.ts';
import { atMost, type ChaosLab, isTrue, type Scenario } from '../scenario.ts';

const CALLS = 100;

const scenario: Scenario = {
  name: 'full-disk',
  attack: 'the disk of the data folder is full while calls come in',
  bound:
    '/readyz is 503 within 3 s, calls are answered, and every entry is in the log when there is room again',
  test: 'test/cli/doctor.test.ts',
  async run(lab) {
    const dataDir = smallDisk(lab);
    if (dataDir === undefined)
      return [isTrue('a small tmpfs can be mounted (needs root)', false, 'it cannot: nothing was measured')];
    const provider = await startFakeProvider();
    lab.onEnd(() => provider.close());
    const gateway = await lab.startGateway({ GATEWAY_LOG_BODIES: 'metadata' }, { dataDir });
    const before = await readiness(gateway);
    await call(gateway, provider.origin);
    const filler = join(dataDir, 'filler');
    fill(filler);
    const since = performance.now();
    const unready = await within(20_000, async () => (await readiness(gateway)) === 503);
    const noticedMs = performance.now() - since;
    const statuses: number[] = [];
    for (let i = 0; i < CALLS; i++) statuses.push(await call(gateway, provider.origin));
    rmSync(filler);
    const ready = await within(20_000, async () => (await readiness(gateway)) === 200);
    const complete = await within(20_000, async () => (await listed(gateway)) === CALLS + 1);
    return [
      isTrue('/readyz before', before === 200, String(before)),
      isTrue('/readyz is 503 while the disk is full', unready),
      atMost('until it is', noticedMs, 3000, 'ms'),
      isTrue(
        'calls are answered',
        statuses.every((status) => status === 200),
        [...new Set(statuses)].join(', '),
      ),
      isTrue('/readyz is 200 when there is room again', ready),
      isTrue(`all ${CALLS + 1} entries are in the log`, complete, String(await listed(gateway))),
    ];
  },
};
export default scenario;

/** A data folder of 64 MiB, unmounted at the end; undefined: this user may not mount. */
function smallDisk(lab: ChaosLab): string | undefined {
  const folder = join(lab.folder, 'disk');
  mkdirSync(folder);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', folder]).status !== 0) return undefined;
  lab.onEnd(() => void spawnSync('umount', ['-l', folder]));
  const dataDir = join(folder, 'data');
  mkdirSync(dataDir);
  return dataDir;
}

/** Writes until nothing more fits. */
function fill(path: string): void {
  const fd = openSync(path, 'w');
  try {
    for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2)) {
      const bytes = new Uint8Array(size);
      for (;;) {
        try {
          if (writeSync(fd, bytes) < size) break;
        } catch {
          break;
        }
      }
    }
  } finally {
    closeSync(fd);
  }
}

async function within(ms: number, holds: () => Promise<boolean>): Promise<boolean> {
  const giveUpAt = performance.now() + ms;
  while (performance.now() < giveUpAt) {
    if (await holds()) return true;
    await sleep(50);
  }
  return false;
}
