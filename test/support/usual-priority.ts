// Ava loads this before each test file. Tests wait for readers, which would get next to nothing beside a busy core.
// A file whose tests have ended and that something still keeps open (after a failed test, mostly) is ended, and named.
import { registerCompletionHandler } from 'ava';
import { keepUsualPriority } from '../../src/lib/background-thread.ts';

const GRACE_MS = 30_000;

keepUsualPriority();
registerCompletionHandler(() => {
  setTimeout(() => {
    process.stdout.write(`LEFT OPEN after its tests: ${process.getActiveResourcesInfo().join(', ')}\n`, () =>
      process.exit(0),
    );
  }, GRACE_MS).unref();
});
