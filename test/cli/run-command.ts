// A command line run in this process, with what it printed: as the `sluice` command runs it, without a process for each.
import { PassThrough } from 'node:stream';
import { outputTo } from '../../src/cli/output.ts';
import { commandLine } from '../../src/cli.ts';

export interface Ran {
  readonly code: number;
  /** What stands on stdout. */
  readonly out: string;
  readonly err: string;
}

/** @param env all of its environment */
export async function runCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  let [out, err] = ['', ''];
  const write = (text: string): void => {
    out += text;
  };
  const stream = new PassThrough().on('data', (chunk: Buffer) => write(chunk.toString('utf8')));
  const tell = (line: string): void => {
    err += `${line}\n`;
  };
  const terminal = { env, out: outputTo(stream as never, env), tell };
  const code = await commandLine(args, terminal, write);
  await new Promise((resolve) => stream.end(resolve));
  return { code, out, err };
}
