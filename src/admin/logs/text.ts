// Texts that are looked for in the books.
import { invalidField } from '../../lib/errors.ts';

/** The text. What no store and no index keeps as it is could not be found: half characters and null bytes are refused. */
export function searchable(field: string, text: string): string {
  if (text.includes('\0')) throw invalidField(field, 'must not contain a null byte', 'null_byte');
  if (!text.isWellFormed()) throw invalidField(field, 'must not contain half of a character', 'surrogate');
  return text;
}
