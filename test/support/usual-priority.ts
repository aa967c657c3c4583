// Ava loads this before each test file. Tests wait for readers, which would get next to nothing beside a busy core.
// The file's duration is noted for the end of the run. A file whose tests have ended and that something still keeps open
// (after a failed test, mostly) is ended, and named.
import { fileURLToPath } from 'node:url';
import test, { registerCompletionHandler } from 'ava';
import { keepUsualPriority } from '../../src/lib/background-thread.ts';
import { useBuiltWorkers } from './built-workers.ts';
import { measureFile } from './durations.ts';
import { nameOf } from './together/groups.ts';

const GRACE_MS = 30_000;

keepUsualPriority();
if (process.env.SLUICE_TEST_PROGRAM !== undefined) useBuiltWorkers(process.env.SLUICE_TEST_PROGRAM);
const measured = measureFile(nameOf(fileURLToPath(test.meta.file)));

registerCompletionHandler(() => {
  measured();
  setTimeout(() => {
    process.stdout.write(`LEFT OPEN after its tests: ${process.getActiveResourcesInfo().join(', ')}\n`, () =>
      process.exit(0),
    );
  }, GRACE_MS).unref();
});
