// What few entries have is kept as well, and what all have is kept as before.
import test from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import { type EntryTuple, entryRecord, entryTuple } from '../../src/store/log/entry-tuple.ts';

const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
const attempt = {
  id: 'a',
  provider: 'openai',
  host: 'h',
  model: 'm',
  statusCode: 200,
  outcome: 'success' as const,
  startedAt: 1,
  latencyMs: 2,
  usage,
  cost: '7',
};
const entry: RequestRecord = {
  id: 'e',
  traceId: 't',
  organisationId: 'o',
  workspaceId: 'w',
  apiKeyId: 'k',
  createdAt: 1,
  operation: 'op',
  protocol: 'rest',
  method: 'POST',
  path: '/',
  provider: 'openai',
  model: 'm',
  responseModel: 'm',
  statusCode: 200,
  outcome: 'success',
  streamed: false,
  latencyMs: 1,
  metadata: {},
  usage,
  cost: '7',
  attempts: [attempt],
};
const kept = (record: RequestRecord): RequestRecord =>
  entryRecord(JSON.parse(JSON.stringify(entryTuple(record))) as EntryTuple);

test('tiers, pricing, budgets, audio and images of an attempt', (t) => {
  const media = {
    inputAudioTokens: 1,
    outputImageTokens: 2,
    cachedAudioTokens: 3,
    rejectedPredictionTokens: 4,
  };
  const rare: RequestRecord = {
    ...entry,
    budgets: ['u:key:k:cost:0.0', 'p:x:y:0.0'],
    attempts: [
      attempt,
      {
        ...attempt,
        id: 'b',
        usage: { ...usage, ...media },
        serviceTier: 'flex',
        pricing: { factors: { default: 1.5 }, rates: { request_token: 0.1 } },
        budgets: ['u:prov:p:cost:0.0'],
      },
    ],
  };
  t.deepEqual(kept(rare), rare);
  const audio = { ...usage, ...media };
  const heard = { ...entry, usage: audio, attempts: [{ ...attempt, usage: audio }] };
  t.deepEqual(kept(heard), heard);
  t.deepEqual(kept(kept(heard)), heard, 'and again');
  t.deepEqual(kept(entry), entry);
  t.is(entryTuple(entry)[21][0]?.length, 14, 'an usual attempt is written as before');
});
