// Times as callers write them.
import { invalidField } from '../../lib/errors.ts';

const ISO_TIME = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)$/i;

/** As `readTime`; undefined stays. */
export function optionalTime(field: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : readTime(field, text);
}

/** ISO 8601 with an offset, as Unix milliseconds. @throws GatewayError validation_failed. */
export function readTime(field: string, text: string): number {
  // A plus sign that was not percent-encoded reaches us as a space.
  const given = text.replace(/ (?=\d\d:?\d\d$)/, '+');
  const date = ISO_TIME.exec(given);
  // Date.parse takes the 31st of February for a day in March.
  const exists =
    date !== null &&
    new Date(Date.UTC(Number(date[1]), Number(date[2]) - 1, Number(date[3]))).getUTCDate() ===
      Number(date[3]);
  const ms = exists ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(ms))
    throw invalidField(field, 'must be a time in ISO 8601 with an offset, e.g. 2026-01-31T00:00:00Z');
  return ms;
}

/** Unix milliseconds as ISO 8601, UTC, milliseconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** As `timeText`; undefined stays. */
export function optionalTimeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : timeText(ms);
}
