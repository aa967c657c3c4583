// Processes of the store know nothing of the gateway's environment, which has secrets; they share its compiled modules.
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import test from 'ava';
import { ReaderProcess } from '../../src/store/sqlite/reader-process.ts';

test('a process gets the folder of compiled modules, and nothing else of the environment', async (t) => {
  process.env.A_SECRET_OF_THE_GATEWAY = 'secret';
  const child = new ReaderProcess(new URL('./environment-child.ts', import.meta.url), {});
  t.teardown(() => {
    delete process.env.A_SECRET_OF_THE_GATEWAY;
    return child.terminate();
  });
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, string>>();
  child.once('message', resolve).once('exit', () => reject(new Error('it ended without a word')));
  const compiled = getCompileCacheDir();
  t.deepEqual(
    { ...(await promise) },
    compiled === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compiled) },
  );
});
