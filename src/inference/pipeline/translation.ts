// What a translation between the caller's form and the provider's wire knows of the call.
import type { Call } from '../../call/call.ts';
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
    lost: over === undefined ? undefined : (fields) => note(call, target, fields),
  };
}

const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

function relayed({ headers }: Call, name: string): string | undefined {
  const value = headers.plain(name);
  return value !== undefined && VALUE.test(value) ? value : undefined;
}

/** @throws GatewayError validation_failed naming every member, where the caller wants nothing left out */
function note({ headers, record }: Call, { provider }: Target, fields: readonly string[]): void {
  record.dropped = fields.length === 0 ? undefined : fields;
  if (fields.length === 0 || headers.get(STRICT) !== 'true') return;
  const message = `cannot be carried by ${provider.id}'s wire`;
  throw validationFailed(fields.map((field): Violation => ({ field, rule: 'untranslatable', message })));
}
