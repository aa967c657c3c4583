// The labels that every workspace has (admin-api facts, part 6.2).
import { createHash } from 'node:crypto';

const NAMES = ['production', 'staging', 'development'] as const;

/** A built-in label. */
export interface UniversalLabel {
  /** UUID, always the same. */
  readonly id: string;
  readonly name: string;
}

/** The labels of every workspace of an organisation. */
export function universalLabels(organisationId: string): readonly UniversalLabel[] {
  return NAMES.map((name) => ({ id: derivedId(`label ${organisationId} ${name}`), name }));
}

/** A UUID that is always the same for a text (version 8 of RFC 9562). */
export function derivedId(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [8, 12, 16, 20, 32].map((end, i, ends) => hex.slice(i === 0 ? 0 : ends[i - 1], end)).join('-');
}
