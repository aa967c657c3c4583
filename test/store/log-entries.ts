// Request log entries for tests and measurements.
import type { RequestRecord } from '../../src/call/record.ts';

/** An entry as a chat completion leaves it, about 900 bytes as JSON. */
export function logEntry(given: Partial<RequestRecord> & { readonly id: string }): RequestRecord {
  const statusCode = given.statusCode ?? 200;
  const createdAt = given.createdAt ?? 1_700_000_000_000;
  return {
    traceId: 'trace-1',
    organisationId: 'org-1',
    workspaceId: 'ws-1',
    apiKeyId: 'key-1',
    createdAt,
    operation: 'CreateChatCompletion',
    protocol: 'rest',
    method: 'POST',
    path: '/v1/chat/completions',
    provider: 'openai',
    model: 'gpt-4o-mini',
    responseModel: 'gpt-4o-mini-2024-07-18',
    statusCode,
    outcome: statusCode < 400 ? 'success' : 'error',
    streamed: false,
    latencyMs: 412,
    usage: { promptTokens: 120, completionTokens: 48, totalTokens: 168 },
    metadata: { _user: 'user-1', environment: 'test' },
    attempts: [
      {
        id: `${given.id}-1`,
        provider: 'openai',
        host: 'api.openai.com',
        model: 'gpt-4o-mini',
        statusCode,
        outcome: statusCode < 400 ? 'success' : 'error',
        startedAt: createdAt,
        latencyMs: 410,
        usage: { promptTokens: 120, completionTokens: 48, totalTokens: 168 },
      },
    ],
    ...given,
  };
}
