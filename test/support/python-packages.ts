// Python environments of tests under .cache. The machine's pip installs into them: an environment with a pip of its own,
// and bytecode of modules that nobody imports, take three times the CPU.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SYSTEM = '/usr/bin/python3';
/** Says which Python it is, and the CPU that usual work takes it. */
const WORK = `
import sys, time
began = time.process_time()
for _ in range(4):
    kept = {}
    for i in range(10000):
        kept[str(i)] = {'a': i, 'b': [i, i], 'c': isinstance(i, int) and str(i).encode()}
print(sys.version_info >= (3, 10), time.process_time() - began)
`;

/** Makes an environment with these packages, as pip takes them. @param interpreter what its Python is */
export async function installPackages(
  place: string,
  packages: readonly string[],
  interpreter = 'python3',
): Promise<void> {
  await run(interpreter, ['-m', 'venv', '--without-pip', place]);
  const into = ['--python', join(place, 'bin', 'python')];
  const options = ['--quiet', '--no-compile', '--disable-pip-version-check'];
  await run('python3', ['-m', 'pip', ...into, 'install', ...options, ...packages]);
}

/** The quicker of the PATH's Python and the system's: one that was built without optimisation takes up to half as much again. */
export async function quickestPython(): Promise<string> {
  const work = async (interpreter: string): Promise<number> => {
    const { stdout } = await run(interpreter, ['-c', WORK]);
    const [recent, seconds] = stdout.trim().split(' ');
    return recent === 'True' ? Number(seconds) : Number.POSITIVE_INFINITY;
  };
  const usual = await work('python3');
  if (!existsSync(SYSTEM)) return 'python3';
  const system = await work(SYSTEM).catch(() => Number.POSITIVE_INFINITY);
  return system < usual ? SYSTEM : 'python3';
}
