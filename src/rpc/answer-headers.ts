// The headers that every answer carries, over every protocol.
import type { Call } from '../call/call.ts';

interface Names {
  readonly requestId: string;
  readonly traceId: string;
  readonly provider: string;
  readonly option: string;
  readonly retries: string;
  readonly cache: string;
}

/** By prefix: there are as many as an operator sets. */
const names = new Map<string, Names>();

function namesOf(prefix: string): Names {
  let known = names.get(prefix);
  if (known === undefined) {
    known = {
      requestId: `${prefix}request-id`,
      traceId: `${prefix}trace-id`,
      provider: `${prefix}provider`,
      option: `${prefix}last-used-option-index`,
      retries: `${prefix}retry-attempt-count`,
      cache: `${prefix}cache-status`,
    };
    names.set(prefix, known);
  }
  return known;
}

/** Name and value of each, under the prefix that the caller used. */
export function answerHeaders(call: Call): [string, string][] {
  const { requestId, traceId, provider, option, retries, cache } = namesOf(call.headers.callerPrefix);
  const { record } = call;
  // A request that is refused before the interceptors saw it has an id too.
  const headers: [string, string][] = [
    [requestId, call.id],
    [traceId, call.traceId],
  ];
  if (record.provider !== '') headers.push([provider, record.provider]);
  if (record.targetPath !== '') {
    headers.push([option, record.targetPath], [retries, String(record.retries)], [cache, record.cacheStatus]);
  }
  if (call.addedHeaders !== undefined)
    for (const [name, value] of call.addedHeaders) headers.push([name, value]);
  return headers;
}
