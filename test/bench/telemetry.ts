// What telemetry costs a call: calls from within, by the real interceptors, books and log, and a handler that answers
// at once and notes one attempt. node test/bench/telemetry.ts BATCHES CALLS prints, for each way, microseconds of the
// processor per call (medians): in the call, and behind it until all is exported.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { DescMethod } from '@bufbuild/protobuf';
import {
  ChatCompletionSchema,
  ChatService,
  CreateChatCompletionRequestSchema,
} from '../../gen/gateway/inference/v2/chat_pb.ts';
import { Directory } from '../../src/access/directory.ts';
import { workspaces } from '../../src/access/identity-collections.ts';
import { createKeyHasher } from '../../src/access/key-hash.ts';
import { KeyRing } from '../../src/access/key-ring.ts';
import { INFERENCE_SCOPES } from '../../src/access/scopes.ts';
import { openWatch, type Watch } from '../../src/app/telemetry.ts';
import { Call } from '../../src/call/call.ts';
import { Books } from '../../src/ledger/books.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { createTokenCounter } from '../../src/ledger/tokens/counter.ts';
import { GatewayHeaders, HeaderNames } from '../../src/lib/gateway-headers.ts';
import { Pace } from '../../src/lib/incoming/pace.ts';
import { ReadingBudget } from '../../src/lib/incoming/reading-budget.ts';
import { openModelCatalogue } from '../../src/providers/catalog/models.ts';
import { codec } from '../../src/rest/codec.ts';
import { createInFlight } from '../../src/rpc/in-flight.ts';
import { createMetrics } from '../../src/rpc/metrics.ts';
import { createRpc, type Rpc } from '../../src/rpc/rpc.ts';
import { readSettings } from '../../src/settings.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { applyDocument } from '../support/apply-document.ts';
import { keyDocument } from '../support/key-document.ts';
import { CHAT_ANSWER, chatRequest } from './payloads.ts';

const KEY = 'slk_bench_workspace_key_0123456789ab';
const names = new HeaderNames(['x-gateway-']);
const hasher = createKeyHasher(Buffer.alloc(32, 7));
const log = createLog('silent');
const catalogue = openModelCatalogue();
const method: DescMethod = ChatService.method.createChatCompletion;
const answer = codec.decode(ChatCompletionSchema, JSON.parse(CHAT_ANSWER));
const request = codec.decodeRequest(CreateChatCompletionRequestSchema, JSON.parse(chatRequest(500)));

async function answerAtOnce(_input: unknown, call: Call): Promise<typeof answer> {
  const { record: callRecord } = call;
  const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };
  callRecord.provider = 'openai';
  callRecord.model = 'gpt-4o-mini';
  callRecord.usage = usage;
  callRecord.attempts.push({
    id: randomUUID(),
    provider: 'openai',
    host: 'api.openai.com',
    model: 'gpt-4o-mini',
    statusCode: 200,
    outcome: 'success',
    startedAt: Date.now(),
    latencyMs: 0.4,
    usage,
  });
  return answer;
}

function keyRing(): { keys: KeyRing; directory: Directory } {
  const keys = new KeyRing(hasher);
  keys.replica.apply(
    keyDocument(hasher, KEY, {
      organisationId: 'org-1',
      workspaceId: 'ws-1',
      keyId: 'key-1',
      keyName: 'bench',
      kind: 'workspace-service',
      scopes: new Set(INFERENCE_SCOPES),
    }),
  );
  const directory = new Directory();
  applyDocument(directory, workspaces.name, {
    id: 'ws-1',
    organisationId: 'org-1',
    slug: 'bench',
    version: 1,
    status: 'active',
    schemaVersion: 1,
    createdAt: 0,
    updatedAt: 0,
    body: { name: 'Bench' },
  });
  return { keys, directory };
}

/** @param watch undefined: not even series for Prometheus */
function rpcWith(watch: Watch | undefined): Rpc {
  const books = new Books({
    prices: openPriceList(),
    counter: createTokenCounter(),
    log: { record: () => 0, flush: async () => {} },
    onEntry: watch?.onEntry,
  });
  const metrics = createMetrics(
    createInFlight(undefined, () => false),
    books,
    watch?.families,
  );
  return createRpc({
    pace: new Pace(),
    budget: new ReadingBudget({ totalBytes: 2 ** 28, keyBytes: 2 ** 27 }),
    services: [
      {
        service: ChatService,
        implementation: { createChatCompletion: answerAtOnce, streamChatCompletion: answerAtOnce } as never,
      },
    ],
    ...keyRing(),
    capacity: metrics,
    observer: metrics,
    spans: watch?.spans,
    audit: {
      done: async () => {},
      failed: async () => {},
      unauthenticated: () => {},
      unauthenticatedData: () => {},
    },
    log,
    names,
    bodyLimit: 1_000_000,
    ready: async () => true,
  });
}

const headers = {
  'x-gateway-api-key': KEY,
  'x-gateway-provider': 'openai',
  authorization: 'Bearer sk-bench',
  'content-type': 'application/json',
};
const traced = { ...headers, traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };

interface Way {
  readonly name: string;
  readonly rpc: Rpc;
  readonly watch: Watch | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Microseconds of the processor per call: in the calls, and behind them. */
async function batch({ rpc, watch, headers }: Way, calls: number): Promise<readonly [number, number]> {
  const source = {
    protocol: 'rest' as const,
    headers: new GatewayHeaders(names, headers),
    httpMethod: 'POST',
    path: '/v1/chat/completions',
    remote: '',
  };
  const before = process.cpuUsage();
  for (let i = 0; i < calls; i++) await rpc.transport.unary(new Call(method, source), request);
  const inCalls = spent(before);
  const behind = process.cpuUsage();
  while ((watch?.families.find(({ name }) => name === 'sluice_spans_waiting') ?? undefined) !== undefined) {
    const [sample] = await watch!.families.find(({ name }) => name === 'sluice_spans_waiting')!.samples();
    if (sample!.value === 0) break;
    await sleep(20);
  }
  return [inCalls / calls, spent(behind) / calls];
}

function spent(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

const [batches, calls] = [Number(process.argv[2] ?? 7), Number(process.argv[3] ?? 20_000)];
const sink = spawn(process.execPath, [fileURLToPath(new URL('./otlp-sink.ts', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const [port] = (await once(sink.stdout, 'data')) as [Buffer];
const endpoint = {
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${String(port).trim()}`,
  OTEL_BSP_MAX_QUEUE_SIZE: '1000000',
  OTEL_BSP_SCHEDULE_DELAY: '50',
};
const open = (env: Readonly<Record<string, string>>) => openWatch(readSettings(env), catalogue, log);
const off = await open({});
const unsampled = await open({
  ...endpoint,
  OTEL_TRACES_SAMPLER: 'traceidratio',
  OTEL_TRACES_SAMPLER_ARG: '0',
});
const on = await open(endpoint);
const ways: readonly Way[] = [
  { name: 'no series, no telemetry', watch: undefined, rpc: rpcWith(undefined), headers },
  { name: 'off (Prometheus only)', watch: off, rpc: rpcWith(off), headers },
  { name: 'off, with a traceparent', watch: off, rpc: rpcWith(off), headers: traced },
  { name: 'on, none sampled', watch: unsampled, rpc: rpcWith(unsampled), headers },
  { name: 'on, all sampled', watch: on, rpc: rpcWith(on), headers },
  { name: 'on, all sampled, with a traceparent', watch: on, rpc: rpcWith(on), headers: traced },
];
const found = ways.map(() => [[], []] as [number[], number[]]);
for (const way of ways) await batch(way, calls);
// In turns, so that what else the machine does falls on all of them.
for (let i = 0; i < batches; i++) {
  for (const [w, way] of ways.entries()) {
    const [inCall, behind] = await batch(way, calls);
    found[w]![0].push(inCall);
    found[w]![1].push(behind);
  }
}
for (const [w, { name }] of ways.entries()) {
  const [inCall, behind] = found[w]!.map(median);
  process.stdout.write(
    `${name.padEnd(38)} ${inCall!.toFixed(2)} us in the call, ${behind!.toFixed(2)} us behind it\n`,
  );
}
sink.kill();
process.exit(0);
