// The key that an operator gives: it wraps the store's keys and touches no data itself.
import { hkdfSync } from 'node:crypto';
import { type DataKey, dataKey } from '../store/sealed-value.ts';

/** A master key: its id tells which one it is and nothing more. */
export interface MasterKey {
  readonly id: string;
  /** Where it came from, for people. */
  readonly source: string;
  readonly wrapping: DataKey;
  /** 32 bytes. */
  readonly bytes: Uint8Array;
}

/** @param bytes 32 bytes; the id and the wrapping key are derived from them (RFC 5869). */
export function masterKey(bytes: Uint8Array, source = 'GATEWAY_ENCRYPTION_KEY'): MasterKey {
  const derive = (info: string, length: number): Buffer =>
    Buffer.from(hkdfSync('sha256', bytes, '', info, length));
  const id = `mk_${derive('sluice master key id', 6).toString('hex')}`;
  return { id, source, wrapping: dataKey(id, derive('sluice key wrapping', 32)), bytes };
}
