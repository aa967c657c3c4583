// Memory that was needed for a burst goes back to the system, and the start asks the C library for the same.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { PROGRAM } from '../support/program.ts';

const CHILD = fileURLToPath(new URL('memory-child.ts', import.meta.url));

test('the heap of a burst is given back while the event loop is idle', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD]);
  t.regex(stdout, /^given back: /);
});

const onLinux = process.platform === 'linux' ? test : test.skip;
onLinux(
  'a start runs with few arenas, and with the options and the environment that it was given',
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-lean-'));
    const env = { ...process.env, PORT: '0', GATEWAY_DATA_DIR: folder, SLUICE_MARK: 'kept' };
    const child = spawn(process.execPath, ['--max-semi-space-size=8', PROGRAM, 'start'], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      for await (const line of createInterface({ input: child.stdout }))
        if (line.startsWith('Sluice listens')) break;
      const read = (name: string): string[] => readFileSync(`/proc/${child.pid}/${name}`, 'utf8').split('\0');
      t.like(Object.fromEntries(read('environ').map((pair) => pair.split('='))), {
        MALLOC_ARENA_MAX: '2',
        MALLOC_MMAP_THRESHOLD_: '40960',
        SLUICE_MARK: 'kept',
      });
      t.deepEqual(read('cmdline').slice(1, 4), ['--max-semi-space-size=8', PROGRAM, 'start']);
    } finally {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
