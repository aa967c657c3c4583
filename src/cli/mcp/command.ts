// `sluice mcp`: the streams and signals of this process, for a local client.
import type { Terminal } from '../output.ts';
import { type Options, optional } from '../remote-options.ts';
import { serveStdio } from './stdio-command.ts';

/** Standard output is the protocol's alone; the exit code is 0 when the client has closed its end. */
export async function mcpCommand(
  options: Options,
  server: string | undefined,
  env: Terminal['env'],
): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  process.stdout.once('error', () => stop.abort());
  const streams = { input: process.stdin, output: process.stdout, errors: process.stderr };
  await serveStdio(server, optional({ url: options.url, key: options.key }), env, streams, stop.signal);
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  process.exit(0);
}
