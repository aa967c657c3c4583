// Events of a stream, and JSON within texts, that are cheap to send and expensive to read. They are weighed at once, not in
// turns of the event loop: the scan gives up when it has looked at too much.
import { fail, type GatewayError } from './errors.ts';
import { JsonScan } from './json-scan.ts';

/** Shorter ones are not weighed. */
export const LIGHT_EVENT_BYTES = 16_384;
/**
 * Heaviest that is read, in the unit of `JsonScan`: 500,000 numbers, 85,000 members, 16,000 members with names of their own,
 * or 20 likely tokens at each of 750 places, which take about 30 ms to read, to translate and to write.
 */
export const MOST_EVENT_WEIGHT = 600_000;
/** A new name costs more than in a body: the translators make objects of it, and write it. */
const NEW_NAME = 30;
/** What a byte outside of strings weighs because it is looked at: 6 MB of them take 25 ms. */
const STEP_WEIGHT = 0.1;
/** What each byte weighs because it is joined, decoded and written: 16 MiB are half of what an event may weigh. */
const BYTE_WEIGHT = 0.018;

/** Whether JSON is too expensive to be read in one turn of the event loop. */
export function isHeavyJson(json: Uint8Array): boolean {
  if (json.length <= LIGHT_EVENT_BYTES) return false;
  const scan = new JsonScan(json, STEP_WEIGHT, NEW_NAME);
  scan.weight = json.length * BYTE_WEIGHT;
  scan.run(json.length, MOST_EVENT_WEIGHT);
  return scan.weight > MOST_EVENT_WEIGHT;
}

/** `isHeavyJson` of a text. */
export function isHeavyText(text: string): boolean {
  return text.length > LIGHT_EVENT_BYTES / 3 && isHeavyJson(Buffer.from(text));
}

/** The error of a stream that has such an event. */
export function tooHeavyEvent(): GatewayError {
  return fail('upstream_garbage', 'an event of the stream has too many members and items');
}
