// What scenarios about data folders share: a gateway with a budget and a log in files, its books, and refused starts.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { logEntry } from '../store/log-entries.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { type ChaosLab, isTrue, type Verdict } from './scenario.ts';

const OLD = 60;
const CALLS = 20;

/** A data folder in which a gateway ran, stopped now. */
export interface RanFolder {
  readonly dataDir: string;
  readonly origin: string;
  /** Entries of its log. */
  readonly entries: number;
}

/** Runs a gateway for some calls, and gives its log older days in files. */
export async function ranFolder(lab: ChaosLab): Promise<RanFolder> {
  const provider = await startFakeProvider();
  lab.onEnd(() => provider.close());
  const gateway = await lab.startGateway();
  const { dataDir } = gateway;
  for (let i = 0; i < CALLS; i++) await call(gateway, provider.origin);
  await gateway.child.stop();
  const organisationId = organisationOf(dataDir);
  const store = await openSqliteStore({ dataDir, collections: [], logBounds: { block: 20 } });
  const entries = Array.from({ length: OLD }, (_, i) =>
    logEntry({ id: `old-${i}`, organisationId, createdAt: Date.now() - (1 + (i % 3)) * 86_400_000 + i }),
  );
  await store.requestLog.append(entries);
  await store.makeRollups();
  await store.close();
  return { dataDir, origin: provider.origin, entries: CALLS + OLD };
}

function organisationOf(dataDir: string): string {
  const database = new DatabaseSync(join(dataDir, 'sluice.db'), { readOnly: true });
  try {
    return String(database.prepare('SELECT id FROM c_organisations LIMIT 1').get()?.id);
  } finally {
    database.close();
  }
}

/** The status of one call. */
export async function call({ origin }: Pick<GatewayProcess, 'origin'>, provider: string): Promise<number> {
  const answer = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai-compatible',
      'x-gateway-custom-host': provider,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'x' }] }),
    signal: AbortSignal.timeout(10_000),
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** How many entries the log lists; -1 when it does not answer. */
export async function listed({ origin }: Pick<GatewayProcess, 'origin'>): Promise<number> {
  const answer = await fetch(`${origin}/v1/logs?page_size=1`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  return answer.ok ? ((await answer.json()) as { readonly total: number }).total : -1;
}

export async function readiness({ origin }: Pick<GatewayProcess, 'origin'>): Promise<number> {
  return (await fetch(`${origin}/readyz`)).status;
}

/** Whether a start on the folder is refused with a message that names the part and the way on. */
export async function refusedFor(lab: ChaosLab, dataDir: string, part: string): Promise<Verdict> {
  const said = await lab.startGateway({}, { dataDir }).then(
    () => 'it started',
    (error: Error) => error.message,
  );
  const named = said.includes(`${part}:`) && said.includes(`sluice accept-loss ${part}`);
  return isTrue(
    `the start is refused and names ${part} and what to do`,
    named,
    named ? 'true' : said.slice(-300),
  );
}

/** Whether a start on the folder, mended, has all entries again. */
export async function wholeAgain(
  lab: ChaosLab,
  { dataDir, entries, origin }: RanFolder,
): Promise<readonly Verdict[]> {
  const gateway = await lab.startGateway({}, { dataDir });
  const found = await listed(gateway);
  const answered = await call(gateway, origin);
  return [
    isTrue(`mended: all ${entries} entries are listed`, found === entries, String(found)),
    isTrue('mended: calls are answered', answered === 200, String(answered)),
  ];
}
