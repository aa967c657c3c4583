// Whether disks take writes, found by writing.
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface DiskProbeOptions {
  /** Each gets a file that is removed at once; they may be disks of their own. */
  readonly folders: readonly string[];
  /** How old an answer may be, in milliseconds; 1000 by default. */
  readonly freshMs?: number;
  /** How long a disk may take, in milliseconds; 2000 by default. */
  readonly withinMs?: number;
}

const NAME = '.disk-probe';
/** What the entries of a busy second need: with less free space the disk counts as full. */
const BYTES = 262_144;

/** Undefined when all folders take writes, else the reason. Never rejects, and resolves within its bound. */
export type DiskProbe = () => Promise<string | undefined>;

export function diskProbe({ folders, freshMs = 1000, withinMs = 2000 }: DiskProbeOptions): DiskProbe {
  let asked = Number.NEGATIVE_INFINITY;
  let running = false;
  let answer: Promise<string | undefined> = Promise.resolve(undefined);

  async function probe(): Promise<string | undefined> {
    running = true;
    const written = Promise.all(folders.map(writeOnce));
    const late = sleep(withinMs, ['ETIMEDOUT'], { ref: false });
    // A write that hangs is not repeated while it does.
    void written.finally(() => {
      running = false;
    });
    const found = (await Promise.race([written, late])).find((code) => code !== undefined);
    return found === undefined ? undefined : `the disk of the data folder takes no writes (${found})`;
  }

  return () => {
    if (running || performance.now() - asked < freshMs) return answer;
    asked = performance.now();
    answer = probe();
    return answer;
  };
}

/** Undefined when it was; else the system's code. */
async function writeOnce(folder: string): Promise<string | undefined> {
  const path = join(folder, NAME);
  try {
    const file = await open(path, 'w', 0o600);
    try {
      await file.writeFile(new Uint8Array(BYTES));
      await file.datasync();
    } finally {
      await file.close();
      await rm(path, { force: true });
    }
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'error';
  }
}
