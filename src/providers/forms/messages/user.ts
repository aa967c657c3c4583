// The end user's identifier on wires that bound it.
import { createHash } from 'node:crypto';

/** OpenAI takes 64 characters. */
const LONGEST = 64;

/** The identifier, or its SHA-256 in hexadecimal where it is longer than the wire takes. */
export function userOf(id: string): string {
  return id.length <= LONGEST ? id : createHash('sha256').update(id).digest('hex');
}
