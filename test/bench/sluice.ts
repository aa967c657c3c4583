// The gateway under measurement, as a process of its own, and its books afterwards.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Scratch, type Segment } from '../../src/store/sqlite/log/segment.ts';
import { SegmentFiles } from '../../src/store/sqlite/log/segment-files.ts';
import { LogView } from '../../src/store/sqlite/log/view.ts';
import { statementCache } from '../../src/store/sqlite/statement-cache.ts';
import { type Child, freePort, startServer } from './child.ts';

/** As `npm start` does it: the build, made anew when it is older than the sources. */
const LAUNCH = fileURLToPath(new URL('../../src/launch.cjs', import.meta.url));
export const ADMIN_KEY = 'slk_bench_admin_key_0123456789abcdef';
const WORKSPACE_KEY = 'slk_bench_workspace_key_0123456789ab';

/** A running gateway. */
export interface Sluice {
  readonly child: Child;
  readonly origin: string;
  readonly dataDir: string;
  /** Headers of a call to the upstream on the port. */
  headers(upstreamPort: number): Readonly<Record<string, string>>;
}

/** @param profileDir where the CPU profile goes; undefined: none is made. @param env beside or in place of the usual */
export async function startSluice(
  folder: string,
  profileDir?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Sluice> {
  const dataDir = mkdtempSync(join(folder, 'sluice-'));
  const port = await freePort();
  const profiler = profileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const child = await startServer(process.execPath, [...profiler, LAUNCH, 'start'], port, {
    HOST: '127.0.0.1',
    PORT: String(port),
    GATEWAY_DATA_DIR: dataDir,
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_API_KEY: WORKSPACE_KEY,
    GATEWAY_EGRESS_ALLOW: '127.0.0.1/32',
    GATEWAY_DRAIN_SECONDS: '5',
    // The others keep nothing of what is said: run with GATEWAY_LOG_BODIES=full to see what that costs.
    GATEWAY_LOG_BODIES: process.env.GATEWAY_LOG_BODIES ?? 'metadata',
    LOG_LEVEL: 'warn',
    ...env,
  });
  return {
    child,
    origin: `http://127.0.0.1:${port}`,
    dataDir,
    headers: (upstreamPort) => ({
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
      authorization: 'Bearer sk-bench',
    }),
  };
}

/** Entries of a stopped gateway's request log. */
export interface Books {
  readonly entries: number;
  readonly succeeded: number;
  /** Entries of calls that the client left. */
  readonly cancelled: number;
  readonly withTrace: (traceId: string) => { readonly entries: number; readonly succeeded: number };
}

/** Reads the books of a gateway that was stopped, without writing to them. */
export function readBooks(dataDir: string): Books {
  const database = new DatabaseSync(join(dataDir, 'sluice.db'), { readOnly: true });
  const files = new SegmentFiles(join(dataDir, 'logs'), 16);
  const scratch = new Scratch();
  const traced = new Map<string, { entries: number; succeeded: number }>();
  const books = { entries: 0, succeeded: 0, cancelled: 0 };
  try {
    const bounds = { block: 8192, unsealed: Number.MAX_SAFE_INTEGER };
    for (const part of new LogView(statementCache(database), files, bounds).refresh().parts) {
      const segment = part.open();
      const codes = textsOf(segment, 'statusCode', scratch);
      const traces = textsOf(segment, 'traceId', scratch);
      for (const [row, code] of codes.entries()) {
        const traceId = traces[row] ?? '';
        books.entries++;
        if (code === '200') books.succeeded++;
        if (code === '499') books.cancelled++;
        if (!traceId.startsWith('bench-')) continue;
        const found = traced.get(traceId) ?? { entries: 0, succeeded: 0 };
        found.entries++;
        if (code === '200') found.succeeded++;
        traced.set(traceId, found);
      }
    }
    return { ...books, withTrace: (traceId) => traced.get(traceId) ?? { entries: 0, succeeded: 0 } };
  } finally {
    files.forget();
    database.close();
  }
}

/** A column's text in each row. */
function textsOf(segment: Segment, name: 'statusCode' | 'traceId', scratch: Scratch): string[] {
  const column = segment.text(name);
  if (column === undefined) return Array(segment.count).fill('');
  const texts = segment.allTexts(column);
  if (column.constant !== undefined) return Array(segment.count).fill(texts[column.constant - 1] ?? '');
  const ids = segment.ids(column, scratch.ids(name, segment.count));
  return Array.from({ length: segment.count }, (_, row) => texts[(ids[row] as number) - 1] ?? '');
}
