// The reference gateway, fetched into a scratch folder: a peer to compare with, never a dependency.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, freePort, run, startServer } from './child.ts';

const PACKAGE = '@portkey-ai/gateway';
export const REFERENCE_VERSION = '1.15.2';
/**
 * The server that it stands on, in the oldest version that its package allows: with newer ones (1.13, 1.19) each of its streams is
 * a 500, because it writes into the headers of the provider's answer, which they leave immutable.
 */
const SERVER = '@hono/node-server@1.3.3';
/** Ignored by git, like all of .cache. */
export const SCRATCH = fileURLToPath(new URL('../../.cache/bench/', import.meta.url));

/** The reference, running. */
export interface Reference {
  readonly child: Child;
  readonly origin: string;
  headers(upstreamPort: number): Readonly<Record<string, string>>;
}

/** @throws Error when it can be neither found nor fetched, or does not start. */
export async function startReference(): Promise<Reference> {
  const folder = join(SCRATCH, `reference-${REFERENCE_VERSION}-streams`);
  const script = join(folder, 'node_modules', PACKAGE, 'build/start-server.js');
  if (!existsSync(script)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private": true}\n');
    const how = ['--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps'];
    await run('npm', ['install', '--prefix', folder, ...how, `${PACKAGE}@${REFERENCE_VERSION}`, SERVER]);
  }
  const port = await freePort();
  const child = await startServer(process.execPath, [script, `--port=${port}`, '--headless'], port, {
    NODE_ENV: 'production',
  });
  return {
    child,
    origin: `http://127.0.0.1:${port}`,
    headers: (upstreamPort) => ({
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
      authorization: 'Bearer sk-bench',
    }),
  };
}
