// The headers that every answer carries, over every protocol.
import type { Call } from '../call/call.ts';

/** Name and value of each, under the prefix that the caller used. */
export function answerHeaders(call: Call): [string, string][] {
  const prefix = call.headers.callerPrefix;
  // A request that is refused before the interceptors saw it has an id too.
  const headers: [string, string][] = [
    [`${prefix}request-id`, call.id],
    [`${prefix}trace-id`, call.traceId],
  ];
  if (call.record.provider !== '') headers.push([`${prefix}provider`, call.record.provider]);
  if (call.record.targetPath !== '') {
    headers.push(
      [`${prefix}last-used-option-index`, call.record.targetPath],
      [`${prefix}retry-attempt-count`, String(call.record.retries)],
      [`${prefix}cache-status`, call.record.cacheStatus],
    );
  }
  for (const [name, value] of call.answerHeaders) headers.push([name, value]);
  return headers;
}
