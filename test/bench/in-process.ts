// A call from within, by itself: every interceptor, a real key ring and log, and a handler that
// answers at once. node test/bench/in-process.ts BATCHES CALLS prints microseconds per call of each batch:
// of the clock, and of the processor (all threads; the neighbours do not count there).

import type { DescMethod } from '@bufbuild/protobuf';
import { pino } from 'pino';
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
import { Call } from '../../src/call/call.ts';
import { Books } from '../../src/ledger/books.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { createRequestLog } from '../../src/ledger/request-log.ts';
import { createTokenCounter } from '../../src/ledger/tokens/counter.ts';
import { GatewayHeaders, HeaderNames } from '../../src/lib/gateway-headers.ts';
import { Pace } from '../../src/lib/incoming/pace.ts';
import { ReadingBudget } from '../../src/lib/incoming/reading-budget.ts';
import { codec } from '../../src/rest/codec.ts';
import { createInFlight } from '../../src/rpc/in-flight.ts';
import { createMetrics } from '../../src/rpc/metrics.ts';
import { createRpc } from '../../src/rpc/rpc.ts';
import { applyDocument } from '../support/apply-document.ts';
import { keyDocument } from '../support/key-document.ts';
import { CHAT_ANSWER, chatRequest } from './payloads.ts';

const KEY = 'slk_bench_workspace_key_0123456789ab';
const names = new HeaderNames(['x-gateway-']);
const hasher = createKeyHasher(Buffer.alloc(32, 7));
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
const requestLog = createRequestLog({
  store: { append: async () => {}, page: async () => ({ total: 0, totalCapped: false, entries: [] }) },
  onDrop: () => {},
});
const answer = codec.decode(ChatCompletionSchema, JSON.parse(CHAT_ANSWER));
const metrics = createMetrics(
  createInFlight(undefined, () => false),
  new Books({ prices: openPriceList(), counter: createTokenCounter(), log: requestLog }),
);
const { transport } = createRpc({
  pace: new Pace(),
  budget: new ReadingBudget({ totalBytes: 2 ** 28, keyBytes: 2 ** 27 }),
  services: [
    {
      service: ChatService,
      implementation: {
        createChatCompletion: async () => answer,
        streamChatCompletion: async () => answer,
      },
    },
  ],
  keys,
  directory,
  capacity: metrics,
  observer: metrics,
  audit: {
    done: async () => {},
    failed: async () => {},
    unauthenticated: () => {},
    unauthenticatedData: () => {},
  },
  log: pino({ level: 'silent' }),
  names,
  bodyLimit: 1_000_000,
  ready: async () => true,
});
const method: DescMethod = ChatService.method.createChatCompletion;
const json: unknown = JSON.parse(chatRequest(500));
const request = codec.decodeRequest(CreateChatCompletionRequestSchema, json);
const headers = {
  'x-gateway-api-key': KEY,
  'x-gateway-provider': 'openai',
  authorization: 'Bearer sk-bench',
  'content-type': 'application/json',
};

function call(): Call {
  return new Call(method, {
    protocol: 'in-process',
    headers: new GatewayHeaders(names, headers),
    httpMethod: '',
    path: '',
    remote: '',
  });
}

async function batch(calls: number): Promise<{ clock: number; processor: number }> {
  const start = performance.now();
  const used = process.cpuUsage();
  for (let i = 0; i < calls; i++) await transport.unary(call(), request);
  const { user, system } = process.cpuUsage(used);
  return { clock: ((performance.now() - start) * 1000) / calls, processor: (user + system) / calls };
}

const [batches, calls] = [Number(process.argv[2]), Number(process.argv[3])];
await batch(calls);
const found: Awaited<ReturnType<typeof batch>>[] = [];
for (let i = 0; i < batches; i++) {
  found.push(await batch(calls));
  // What is recorded is stored between the batches, not in them.
  await requestLog.flush();
}
const { recorded, failed } = requestLog.stats();
if (recorded !== (batches + 1) * calls || failed > 0)
  throw new Error(`${recorded} entries, ${failed} of them lost`);
process.stdout.write(`${JSON.stringify(found)}\n`);
process.exit(0);
