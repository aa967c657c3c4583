// Entries of calls, for tests of what is made of them.
import type { AttemptRecord, RequestRecord } from '../../src/call/record.ts';

/** A call with one attempt. */
export function entryOf(
  operation: string,
  model: string,
  changes: Partial<AttemptRecord> = {},
  more: Partial<RequestRecord> = {},
): RequestRecord {
  const attempt: AttemptRecord = {
    id: '01234567-89ab-4cde-8f01-23456789abcd',
    provider: 'openai',
    host: 'api.openai.com',
    model,
    statusCode: 200,
    outcome: 'success',
    startedAt: 1_700_000_000_001,
    latencyMs: 100.5,
    usage: { promptTokens: 2, completionTokens: 3, totalTokens: 5 },
    ...changes,
  };
  return {
    id: 'r',
    traceId: 't',
    organisationId: 'o',
    workspaceId: 'w',
    apiKeyId: 'k',
    createdAt: 1_700_000_000_000,
    operation,
    protocol: 'rest',
    method: 'POST',
    path: '/v1/x',
    provider: 'openai',
    model,
    responseModel: model,
    statusCode: 200,
    outcome: 'success',
    streamed: false,
    latencyMs: 101.25,
    metadata: { team: 'confidential' },
    attempts: [attempt],
    ...more,
  };
}
