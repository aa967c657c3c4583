// What test files of a group import in the place of ava: their tests and hooks are collected for the file that is
// being imported. The part of ava's `test` that this project uses; another member is missing, and says so at once.
import { type Body, CollectedFile, type Order } from './collected-file.ts';

let current: CollectedFile | undefined;

/** Collects what a file declares while it is imported. */
export async function collect(name: string, load: () => Promise<unknown>): Promise<CollectedFile> {
  current = new CollectedFile(name);
  const file = current;
  try {
    await load();
  } finally {
    current = undefined;
  }
  return file;
}

type Hook = [body: Body] | [title: string, body: Body];

function file(): CollectedFile {
  if (current === undefined) throw new Error('a test or hook is declared after its file was imported');
  return current;
}

const declare = (order: Order) => (title: string, body: Body) =>
  void file().tests.push({ title, body, order });
const bodyOf = (hook: Hook): Body => hook[hook.length - 1] as Body;
const before = (...hook: Hook): void => void file().before.push(bodyOf(hook));
const beforeEach = (...hook: Hook): void => void file().beforeEach.push(bodyOf(hook));
const afterAlways = (...hook: Hook): void => void file().after.push(bodyOf(hook));
const afterEachAlways = (...hook: Hook): void => void file().afterEach.push(bodyOf(hook));

export default Object.assign(declare('concurrent'), {
  before,
  beforeEach,
  serial: Object.assign(declare('serial'), { before }),
  after: Object.assign(declare('last'), { always: afterAlways }),
  afterEach: { always: afterEachAlways },
});
