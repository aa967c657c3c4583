// The official conformance suite as a child process, against an address.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);

/** Which scenarios of a revision's requirements an endpoint passes, by name. */
export async function conformance(
  url: string,
  revision: string,
  timeoutMs = 240_000,
): Promise<ReadonlyMap<string, boolean>> {
  const cwd = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
  const child = spawn(process.execPath, [CLI, 'server', '--url', url, '--requirements', revision], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => (output += piece.toString()));
  const late = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await new Promise<void>((resolve) => child.once('close', () => resolve()));
  clearTimeout(late);
  rmSync(cwd, { recursive: true, force: true });
  const results = new Map<string, boolean>();
  for (const [, mark, name, , failed] of output.matchAll(
    /^(✓|✗|⚠)\s+(\S+?):?\s+(\d+) passed, (\d+) failed/gm,
  ))
    results.set(name!, mark === '✓' && failed === '0');
  if (results.size === 0) throw new Error(`the suite said nothing of scenarios:\n${output.slice(-4000)}`);
  return results;
}
