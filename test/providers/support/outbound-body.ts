import { UnwrittenJson } from '../../../src/lib/json-in-slices.ts';
import type { Outbound } from '../../../src/providers/dialect.ts';

/** What a provider would read. */
export function textOfBody(body: Outbound['body']): string {
  return body instanceof UnwrittenJson
    ? JSON.stringify(body.value)
    : Buffer.from(body ?? '').toString('utf8');
}
