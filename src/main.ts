#!/usr/bin/env node
// The way in. What the engine makes of the sources is kept beside the checkout: the next start is sooner, and needs no
// memory for reading TypeScript, in this thread and in the workers.
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { withLeanMalloc } from './lib/lean-malloc.ts';

if (process.argv[2] === 'start') withLeanMalloc(process.env);

const folder =
  process.env.NODE_COMPILE_CACHE ?? fileURLToPath(new URL('../.cache/compiled', import.meta.url));
enableCompileCache(folder);
// Worker threads and processes read it from here.
process.env.NODE_COMPILE_CACHE = folder;

const { runCommand } = await import('./cli.ts');
await runCommand(process.argv.slice(2));
