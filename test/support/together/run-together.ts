// Runs the test files of a group in one process, so that the modules that they share are loaded once: loading the app
// costs most of a second of CPU, which most files' own tests do not. Files run one after the other.
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ava from 'ava';
import { measureFile } from '../durations.ts';
import { collect } from './ava.ts';
import type { CollectedFile } from './collected-file.ts';
import { filesOf, nameOf, TESTS } from './groups.ts';

const COLLECTOR = new URL('./ava.ts', import.meta.url).href;

/** Declares all tests of a group. @param entry the URL of the group's own file, whose name says what is in it */
export async function runTogether(entry: string): Promise<void> {
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'ava' && context.parentURL?.startsWith(TESTS.href)
        ? { url: COLLECTOR, shortCircuit: true }
        : next(specifier, context),
  });
  const collected: CollectedFile[] = [];
  for (const path of filesOf(fileURLToPath(entry))) {
    collected.push(await collect(nameOf(path), () => import(pathToFileURL(path).href)));
  }
  hooks.deregister();
  let turn: Promise<unknown> = Promise.resolve();
  for (const file of collected) {
    const name = file.name.replaceAll('/', ' › ');
    for (const { title, body } of file.runnable(turn)) ava(`${name} › ${title}`, body);
    void turn.then(() => void file.ended.then(measureFile(file.name)));
    turn = file.ended;
  }
}
