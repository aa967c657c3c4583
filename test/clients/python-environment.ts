// A Python with packages of its own, made on first use and kept under .cache.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { installPackages } from '../support/python-packages.ts';

const run = promisify(execFile);

/** What an environment holds. */
export interface PythonNeeds {
  /** Its folder's name under .cache; no two test files share one, since they run at the same time. */
  readonly folder: string;
  /** As pip takes them. */
  readonly packages: readonly string[];
  /** Python that fails when they are not there, e.g. "import grpc". */
  readonly proof: string;
}

/** The interpreter; or why there can be none, which has been told loudly. */
export async function pythonWith(
  t: ExecutionContext,
  { folder, packages, proof }: PythonNeeds,
): Promise<string | undefined> {
  const place = resolve('.cache', folder);
  const python = join(place, 'bin', 'python');
  const ready = async (): Promise<boolean> =>
    existsSync(python) &&
    (await run(python, ['-c', proof]).then(
      () => true,
      () => false,
    ));
  if (await ready()) return python;
  let reason = 'what was installed cannot be imported';
  try {
    t.log(`installing ${packages.join(' ')} into .cache/${folder}`);
    await installPackages(place, packages);
    if (await ready()) return python;
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  t.log(`*** SKIPPED: the Python client was NOT tested, ${packages.join(' ')} cannot be had ***`);
  t.log(reason);
  t.pass();
  return undefined;
}
