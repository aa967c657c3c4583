// Where a page of entries ends, as an opaque text.
import { invalidField } from '../../../lib/errors.ts';

/** An entry's place among those of its organisation. */
export interface Position {
  readonly createdAt: number;
  readonly id: string;
}

export function encodePosition({ createdAt, id }: Position, order: 'asc' | 'desc'): string {
  return Buffer.from(JSON.stringify([order, createdAt, id])).toString('base64url');
}

/** @throws validation_failed for what is none, or is one of another order. */
export function decodePosition(text: unknown, order: 'asc' | 'desc'): Position {
  if (typeof text === 'string' && /^[\w-]{1,4000}$/.test(text)) {
    try {
      const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
      const [of, createdAt, id] = Array.isArray(parts) ? (parts as unknown[]) : [];
      if (of === order && Number.isSafeInteger(createdAt) && typeof id === 'string') {
        return { createdAt: createdAt as number, id };
      }
    } catch {
      // The text is not a cursor.
    }
  }
  throw invalidField('after', 'is no cursor of this list', 'cursor');
}

/** How two entries stand to each other, oldest first: as the server compares texts, by their bytes. */
export function comparePositions(a: Position, b: Position): number {
  return (
    a.createdAt - b.createdAt || (a.id === b.id ? 0 : Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)))
  );
}
