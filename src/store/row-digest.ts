// A number for a set of rows that does not depend on their order: two stores keep them in different ones.
import { createHash } from 'node:crypto';

export interface RowDigest {
  add(text: string): void;
  readonly count: number;
  /** 64 hexadecimal digits. */
  readonly hash: string;
}

const SPAN = 2n ** 256n;

/** The sum of all rows' SHA-256, modulo 2^256. Detects mistakes, not rows that were chosen to match. */
export function rowDigest(): RowDigest {
  let count = 0;
  let sum = 0n;
  return {
    add: (text) => {
      count++;
      sum = (sum + BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)) % SPAN;
    },
    get count() {
      return count;
    },
    get hash() {
      return sum.toString(16).padStart(64, '0');
    },
  };
}

/** JSON with the members of every object in one order. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
