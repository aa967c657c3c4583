// What a translation between the caller's form and the provider's wire knows of the call.
import type { Call } from '../../call/call.ts';
import type { CallRecord } from '../../call/call-record.ts';
import { type Violation, validationFailed } from '../../lib/errors.ts';
import type { Target, TranslationContext } from '../../providers/dialect.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';

/** The header by which a caller wants a request refused of which the wire cannot carry all. */
const STRICT = 'strict-translation';

/** The context of one call and target. */
export function translationOf(
  call: Call,
  target: Target,
  now: () => number,
  name: OperationName,
): TranslationContext {
  const { over, relays } = operationRow(name);
  return {
    target,
    now,
    relayed: relays && ((header) => (relays.includes(header) ? relayed(call, header) : undefined)),
    lost: over === undefined && name !== 'chat' ? undefined : (fields) => note(call, target, fields),
  };
}

const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

function relayed({ headers }: Call, name: string): string | undefined {
  const value = headers.plain(name);
  return value !== undefined && VALUE.test(value) ? value : undefined;
}

/** @throws GatewayError validation_failed naming every member, where the caller wants nothing left out */
function note(call: Call, { provider }: Target, fields: readonly string[]): void {
  const { headers, record, arrivedAt } = call;
  const elapsed = call.elapsedMs();
  record.dropped = fields.length === 0 ? undefined : fields;
  if (fields.length === 0) return;
  if (headers.get(STRICT) !== 'true') {
    noteSpan(record, arrivedAt + elapsed, provider.id, fields);
    return;
  }
  const message = `cannot be carried by ${provider.id}'s wire`;
  throw validationFailed(fields.map((field): Violation => ({ field, rule: 'untranslatable', message })));
}

/** Characters of the names that the log keeps. */
const MOST_NAMES = 1000;

/** One for each provider that is asked, however often. */
function noteSpan(record: CallRecord, now: number, name: string, fields: readonly string[]): void {
  const verdict = `dropped ${fields.join(', ')}`.slice(0, MOST_NAMES);
  record.spans ??= [];
  if (record.spans.some((span) => span.kind === 'translation' && span.name === name)) return;
  record.spans.push({ kind: 'translation', name, startedAt: Math.round(now), latencyMs: 0, verdict });
}
