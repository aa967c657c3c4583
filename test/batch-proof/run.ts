// A batch of many rows at a gateway that is killed (-9) again and again: each row is answered once, the provider is asked
// at most for what was in flight above that, and the batch's money is the sum of its entries.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import { COLLECTIONS } from '../../src/app/stores.ts';
import type { RequestRecord } from '../../src/call/record.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { startGateway } from '../ledger-proof/fleet.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';

/** How large, and how rough. */
export interface BatchProofOptions {
  readonly rows: number;
  readonly kills: number;
  readonly killEverySeconds: number;
  /** Rows at once. */
  readonly atOnce: number;
  /** How long the provider takes for a row, in milliseconds. */
  readonly rowMs: number;
  readonly say: (line: string) => void;
}

/** What came of it. */
export interface BatchProof {
  readonly status: string;
  readonly kills: number;
  /** Lines of the output, and how many different rows they answer. */
  readonly lines: number;
  readonly answered: number;
  /** Calls that the provider counted. */
  readonly asked: number;
  readonly entries: readonly RequestRecord[];
}

const END_MS = 1_800_000;

/** @throws Error when the batch does not come to its end */
export async function proveBatch(options: BatchProofOptions): Promise<BatchProof> {
  const provider = await countingProvider(options.rowMs);
  const gateway = await startGateway({
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_API_KEY: WORKSPACE_KEY,
    GATEWAY_EGRESS_ALLOW: '127.0.0.1/32',
    GATEWAY_BATCH_ROWS_AT_ONCE: String(options.atOnce),
    GATEWAY_HOLD_SECONDS: '5',
    LOG_LEVEL: 'error',
  });
  try {
    await gateway.up();
    const openai = new OpenAI({
      apiKey: WORKSPACE_KEY,
      baseURL: `${gateway.origin}/v1`,
      maxRetries: 10,
      defaultHeaders: {
        'x-gateway-config': JSON.stringify({
          provider: 'deepseek',
          api_key: 'sk',
          custom_host: provider.origin,
        }),
      },
    });
    const input = Array.from({ length: options.rows }, (_, i) => rowText(i)).join('\n');
    const file = await openai.files.create({
      file: await toFile(Buffer.from(input), 'in.jsonl'),
      purpose: 'batch',
    });
    const made = await openai.batches.create({
      input_file_id: file.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    let kills = 0;
    const begun = performance.now();
    let killedAt = begun;
    let batch = made;
    while (!['completed', 'failed', 'cancelled', 'expired'].includes(batch.status)) {
      if (performance.now() - begun > END_MS) throw new Error(`the batch is ${batch.status} still`);
      await sleep(100);
      if (
        kills < options.kills &&
        performance.now() - killedAt > options.killEverySeconds * 1000 &&
        gateway.mayBeKilled()
      ) {
        gateway.kill();
        kills++;
        await gateway.up();
        killedAt = performance.now();
        options.say(`kill ${kills}: ${provider.asked()} calls so far`);
      }
      batch = await openai.batches.retrieve(made.id);
    }
    const text = await (await openai.files.content(batch.output_file_id ?? '')).text();
    const ids = text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
    options.say(`${batch.status}: ${ids.length} lines, ${provider.asked()} calls, ${kills} kills`);
    await gateway.stop();
    const entries = await entriesOf(gateway.dataDir, made.id);
    return {
      status: batch.status,
      kills,
      lines: ids.length,
      answered: new Set(ids).size,
      asked: provider.asked(),
      entries,
    };
  } finally {
    await gateway.stop();
    gateway.remove();
    await provider.close();
  }
}

function rowText(i: number): string {
  const body = { model: 'deepseek-chat', messages: [{ role: 'user', content: `row ${i}` }] };
  return JSON.stringify({ custom_id: `row-${i}`, method: 'POST', url: '/v1/chat/completions', body });
}

/** The books of a stopped gateway: the entries of a batch's rows. */
async function entriesOf(dataDir: string, batchId: string): Promise<RequestRecord[]> {
  const store = await openSqliteStore({ dataDir, collections: COLLECTIONS });
  try {
    const entries: RequestRecord[] = [];
    for (let after: string | undefined; ; ) {
      const batch = await store.logMaintenance.scan({ after, limit: 1000 });
      entries.push(...batch.entries);
      after = batch.next;
      if (after === undefined) break;
    }
    return entries.filter(({ metadata }) => metadata?._batch === batchId);
  } finally {
    await store.close();
  }
}

async function countingProvider(rowMs: number) {
  let asked = 0;
  const server = http.createServer((req, res) => {
    asked++;
    req.resume();
    req.on('end', () =>
      setTimeout(() => {
        res.writeHead(200, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            id: 'c',
            object: 'chat.completion',
            created: 1,
            model: 'deepseek-chat',
            choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
            usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
          }),
        );
      }, rowMs),
    );
    req.on('error', () => {});
    res.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
