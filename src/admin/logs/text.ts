// Texts that are looked for in the books.
import { invalidField } from '../../lib/errors.ts';

/** The text. Half characters and null bytes are refused: stores and indexes do not keep them, so none would match. */
export function searchable(field: string, text: string): string {
  if (text.includes('\0')) throw invalidField(field, 'must not contain a null byte', 'null_byte');
  if (!text.isWellFormed()) throw invalidField(field, 'must not contain half of a character', 'surrogate');
  return text;
}
