#!/usr/bin/env node
// The way in. What the engine makes of the code is kept for the next start, which is sooner by it, in this thread and in
// the workers.
import { enableCompileCache } from 'node:module';
import { useCodeCache } from './lib/code-cache.ts';
import { compileCacheFolder } from './lib/compile-cache.ts';
import { SAVING_AT_START } from './lib/idle-memory.ts';
import { withLeanMalloc } from './lib/lean-malloc.ts';
import { warmWorker } from './lib/warm-workers.ts';

/**
 * Young objects of calls in flight die before they are moved to the old generation. Nor are any made there: the engine does
 * so for places in the code whose objects lived long while it started, and their garbage there keeps that of later calls
 * (measured: a quarter of the CPU of streamed responses). So it does for function literals that are assigned to a member:
 * where each call has one, it is a constant first.
 */
const MEMORY = ['--max-semi-space-size=32', '--no-allocation-site-pretenuring', ...SAVING_AT_START];

if (process.argv[2] === 'start') withLeanMalloc(process.env, MEMORY);

const folder = process.env.NODE_COMPILE_CACHE ?? compileCacheFolder(process.env);
if (folder !== undefined) {
  enableCompileCache(folder);
  // Worker threads and processes read it from here.
  process.env.NODE_COMPILE_CACHE = folder;
  useCodeCache(folder);
}

/** What an embedded gateway opens first loads beside the program. */
function warmStores({ MONGODB_URI }: NodeJS.ProcessEnv): void {
  if (!MONGODB_URI) warmWorker(new URL('./store/sqlite/writer.ts', import.meta.url));
}

const isHelp = process.argv.some((arg) => /^(?:--help|-h|--version|-v|-V)$/.test(arg));
if (process.argv[2] === 'start' && !isHelp) warmStores(process.env);

void import('./cli.ts').then(({ runCommand }) => runCommand(process.argv.slice(2)));
