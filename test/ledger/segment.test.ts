// A file of the in-flight journal is closed once: its descriptor's number is soon another file's.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Segment } from '../../src/ledger/flight/segment.ts';

function folderOf(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-segment-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test.serial('what is closed or removed twice closes no other file, and takes no more lines', (t) => {
  const folder = folderOf(t);
  const segment = new Segment(1, join(folder, '1'));
  segment.append('one\n');
  segment.close();
  // Synchronous from here on: the system gives the lowest free number, which is the one just freed.
  const other = openSync(join(folder, 'other'), 'wx');
  segment.close();
  segment.remove();
  t.throws(() => segment.append('two\n'), { message: /closed/ });
  writeSync(other, 'kept');
  closeSync(other);
  t.is(readFileSync(join(folder, 'other'), 'utf8'), 'kept');
});

test.serial('a file that is used again is closed by its new owner alone', (t) => {
  const folder = folderOf(t);
  const first = new Segment(1, join(folder, '1'));
  const second = new Segment(2, join(folder, '2'), first);
  first.close();
  second.append('line\n');
  second.close();
  t.is(readFileSync(join(folder, '2'), 'utf8'), 'line\n');
});
