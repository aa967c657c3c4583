// Attributes of spans. Never a prompt, an answer, an error's words, metadata, a header or a credential.
import type { AttemptRecord, RequestRecord, SpanRecord } from '../call/record.ts';
import { operationNameOf, providerNameOf } from './gen-ai-names.ts';
import { errorOf } from './usage-series.ts';

export type Attributes = Record<string, string | number | boolean>;

/** Longest text of a caller's, e.g. a model's name. */
const MOST_LETTERS = 256;

/** Of the span of a call. @param route the path's template; undefined where the contract has none */
export function serverAttributes(entry: RequestRecord, route: string | undefined): Attributes {
  const { statusCode, error } = entry;
  const failed = error !== undefined || entry.outcome === 'interrupted' || statusCode >= 500;
  return present({
    'http.request.method': entry.method || undefined,
    'http.route': entry.protocol === 'rest' ? route : undefined,
    'http.response.status_code': statusCode,
    'rpc.system.name': RPC_SYSTEMS[entry.protocol],
    'rpc.method': entry.operation,
    'error.type': failed ? (error?.reason ?? String(statusCode)) : undefined,
    'sluice.request.id': entry.id,
    'sluice.trace.id': entry.traceId,
    'sluice.outcome': entry.outcome,
    'sluice.organisation.id': entry.organisationId || undefined,
    'sluice.workspace.id': entry.workspaceId || undefined,
    'sluice.api_key.id': entry.apiKeyId || undefined,
    'sluice.config': entry.config,
    'sluice.cache.status': entry.cacheStatus,
    'sluice.retries': entry.retries,
    'sluice.fallback': entry.rescued,
    'sluice.streamed': entry.streamed || undefined,
    'sluice.cost_usd': usd(entry.cost),
  });
}

const RPC_SYSTEMS: Readonly<Record<string, string>> = {
  grpc: 'grpc',
  'grpc-web': 'grpc',
  connect: 'connectrpc',
};

/** Of the span of a call of a provider. @param before attempts before it that asked the same of the same host */
export function attemptAttributes(
  operation: string,
  attempt: AttemptRecord,
  mode: string | undefined,
  before: number,
): Attributes {
  const { provider, host, model, responseModel, usage, timeToFirstTokenMs: first } = attempt;
  const { address, port } = addressOf(host);
  return present({
    'gen_ai.operation.name': operationNameOf(operation, mode),
    'gen_ai.provider.name': providerNameOf(provider),
    'gen_ai.request.model': short(model),
    'gen_ai.response.model': short(responseModel),
    'gen_ai.response.time_to_first_chunk': first === undefined ? undefined : first / 1000,
    'gen_ai.usage.input_tokens': usage?.promptTokens,
    'gen_ai.usage.output_tokens': usage?.completionTokens,
    'gen_ai.usage.cache_read.input_tokens': usage?.cachedTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheCreationTokens,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoningTokens,
    'server.address': address,
    'server.port': port,
    'http.response.status_code': attempt.statusCode || undefined,
    'http.request.resend_count': before || undefined,
    'error.type': errorOf(attempt) || undefined,
    'sluice.attempt.id': attempt.id,
    'sluice.outcome': attempt.outcome,
    'sluice.usage.estimated': attempt.usageEstimated,
    'sluice.cost_usd': usd(attempt.cost),
  });
}

/** Of the span of work of the gateway's own. */
export function workAttributes({ kind, name, verdict }: SpanRecord): Attributes {
  switch (kind) {
    case 'translation':
      return { 'sluice.translation.provider': name, 'sluice.translation.dropped': verdict };
    case 'guardrail':
      return { 'sluice.guardrail.id': name.slice(0, MOST_LETTERS), 'sluice.guardrail.verdict': verdict };
    case 'cache':
      return { 'sluice.cache.mode': name.slice(0, MOST_LETTERS), 'sluice.cache.status': verdict };
    case 'tool':
      return { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name.slice(0, MOST_LETTERS) };
  }
}

export function present(all: Readonly<Record<string, string | number | boolean | undefined>>): Attributes {
  const attributes: Attributes = {};
  for (const name in all) {
    const value = all[name];
    if (value !== undefined) attributes[name] = value;
  }
  return attributes;
}

function short(text: string | undefined): string | undefined {
  return text ? text.slice(0, MOST_LETTERS) : undefined;
}

export function usd(cost: string | undefined): number | undefined {
  return cost === undefined ? undefined : Number(cost) / 1e12;
}

export function addressOf(host: string): { address: string | undefined; port: number | undefined } {
  const match = /^(.*?)(?::(\d{1,5}))?$/.exec(host);
  const port = match?.[2];
  return { address: match?.[1] || undefined, port: port === undefined ? undefined : Number(port) };
}
