// How dear a JSON text is to read, before it is read: a body of 24 MiB that is one text takes some milliseconds, one of
// eight million empty objects takes seconds, all of them on the event loop.
import { JsonScan } from '../lib/json-scan.ts';
import { nextTurn } from '../lib/time-slices.ts';

/**
 * Of one body: 400,000 numbers, 57,000 members, 16,000 members with names of their own or 2 million escapes, which take
 * about 30 ms to read and to decode.
 */
export const MOST_WEIGHT = 400_000;
/** Bytes that are scanned in one turn of the event loop: about 5 ms. */
const SLICE_BYTES = 2_097_152;
/** Weight that is found in one turn at the most. */
const SLICE_WEIGHT = 50_000;
/** Shorter texts cannot weigh too much for one turn. */
export const LIGHT_BYTES = 65_536;

/**
 * Whether a JSON text weighs more than `most`. It works in turns of the event loop.
 * @param most in the unit of `MOST_WEIGHT`
 * @param byteWeight what each byte weighs
 */
export async function isTooHeavy(
  json: Uint8Array,
  most: number = MOST_WEIGHT,
  byteWeight = 0,
): Promise<boolean> {
  if (json.length <= LIGHT_BYTES) return false;
  const scan = new JsonScan(json);
  scan.weight = json.length * byteWeight;
  while (!scan.over && scan.weight <= most) {
    scan.run(scan.at + SLICE_BYTES, Math.min(most, scan.weight + SLICE_WEIGHT));
    await nextTurn();
  }
  return scan.weight > most;
}
