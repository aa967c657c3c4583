// The C library's allocator, told to give memory back. glibc makes up to eight arenas for each core, and each keeps what
// it freed: a gateway has some twenty threads, and two arenas hold the same in about 70 MB less. Of an arena only the end
// goes back to the system, and one small block there keeps all the free room below it (measured: 86 MB with 22 MB in
// use); buffers of bodies therefore get mappings of their own, which go when they are freed.
import { isMainThread } from 'node:worker_threads';

const SETTINGS: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: '2',
  /** Bytes from which a block is a mapping. Reads from sockets, 64 KiB at first, are among them. */
  MALLOC_MMAP_THRESHOLD_: '40960',
};

/**
 * Starts this program again in this process with the settings above, which only the environment can give, and with the
 * given options of the engine for its memory. Does nothing
 * where one of them is there already, on other systems than Linux, and in a process that another one talks to.
 */
export function withLeanMalloc(env: NodeJS.ProcessEnv, engine: readonly string[] = []): void {
  if (process.platform !== 'linux' || !isMainThread || process.connected) return;
  if (Object.keys(SETTINGS).some((name) => env[name] !== undefined)) return;
  if (process.execve === undefined) return;
  const { emitWarning } = process;
  // Node calls it experimental, and says so on stderr.
  process.emitWarning = () => {};
  try {
    // What the command line says of the same thing counts.
    const added = process.execArgv.some((flag) => /semi-space/.test(flag)) ? [] : engine;
    const args = [process.execPath, ...process.execArgv, ...added, ...process.argv.slice(1)];
    process.execve(process.execPath, args, { ...env, ...SETTINGS });
  } catch {
    // Where it may not (the permission model), the gateway runs as it is.
  }
  process.emitWarning = emitWarning;
}
