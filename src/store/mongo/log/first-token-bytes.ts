// Times to first token of the rows of roll-ups, as bytes of their own: programs of earlier versions do not read them.
import type { FirstTokens } from '../../log/aggregation.ts';
import { Bytes, Reader } from './number-bytes.ts';

const FORMAT = 1;

/** @param rows in the order of the roll-ups' rows */
export function encodeFirstTokens(rows: readonly FirstTokens[]): Buffer {
  const bytes = new Bytes();
  bytes.number(FORMAT);
  for (const { calls, us, unknown, times } of rows) {
    bytes.number(calls);
    bytes.number(unknown);
    if (calls === 0) continue;
    bytes.number(us);
    bytes.histogram(times);
  }
  return bytes.all();
}

/** Row after row. */
export function* decodeFirstTokens(data: Uint8Array): Generator<FirstTokens> {
  const reader = new Reader(data);
  if (reader.number() !== FORMAT) throw new Error('stored times to first token are of a newer program');
  while (!reader.isAtEnd) {
    const calls = reader.number();
    const unknown = reader.number();
    const us = calls === 0 ? 0 : reader.number();
    yield { calls, us, unknown, times: calls === 0 ? new Map() : reader.histogram() };
  }
}
