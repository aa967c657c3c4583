#!/usr/bin/env node
// The way in. What the engine makes of the code is kept for the next start, which is sooner by it, in this thread and in
// the workers.
import { enableCompileCache } from 'node:module';
import { compileCacheFolder } from './lib/compile-cache.ts';
import { withLeanMalloc } from './lib/lean-malloc.ts';

/** Young objects of calls in flight die before they are moved to the old generation. */
const YOUNG = ['--max-semi-space-size=32'];

if (process.argv[2] === 'start') withLeanMalloc(process.env, YOUNG);

const folder = process.env.NODE_COMPILE_CACHE ?? compileCacheFolder(process.env);
if (folder !== undefined) {
  enableCompileCache(folder);
  // Worker threads and processes read it from here.
  process.env.NODE_COMPILE_CACHE = folder;
}

const { runCommand } = await import('./cli.ts');
await runCommand(process.argv.slice(2));
