// Events of a stream, and JSON within texts, that are cheap to send and expensive to read. They are weighed at once, not in
// turns of the event loop: the scan gives up when it has looked at too much.
import { fail, type GatewayError } from './errors.ts';
import { ITEM, JsonScan } from './json-scan.ts';

/** Shorter ones are not weighed. */
export const LIGHT_EVENT_BYTES = 16_384;
/**
 * Heaviest that is read, in the unit of `JsonScan`: 240,000 numbers, 70,000 members, 16,000 members with names of their own,
 * or 20 likely tokens at each of 600 places, which take about 30 ms to read, to translate and to write.
 */
export const MOST_EVENT_WEIGHT = 600_000;
/** What an item costs when a message is made of it and written in binary. */
const REWRITTEN_ITEM = 2.4;
/** A new name costs more than in a body: the translators make objects of it, and write it. */
const NEW_NAME = 30;
/** What a byte outside of strings weighs because it is looked at: 6 MB of them take 25 ms. */
const STEP_WEIGHT = 0.1;
/** What each byte weighs because it is joined, decoded, read and written again: a text of 8 MB is all that an event may hold. */
const REWRITTEN_BYTE = 0.075;
/** What each byte weighs where it is decoded and read alone. */
export const READ_BYTE = 0.03;

/** Whether JSON is too expensive to be read in one turn of the event loop. */
export function isHeavyJson(json: Uint8Array): boolean {
  return json.length > LIGHT_EVENT_BYTES && rewritingWeight(json) > MOST_EVENT_WEIGHT;
}

/** What it costs to read JSON: its members and items, and its bytes. Above `MOST_EVENT_WEIGHT` it is some number above that. */
export function readingWeight(json: Uint8Array): number {
  return weightOf(json, READ_BYTE, ITEM);
}

/** What it costs to read JSON, to make a message of it and to write that. */
export function rewritingWeight(json: Uint8Array): number {
  return weightOf(json, REWRITTEN_BYTE, REWRITTEN_ITEM);
}

function weightOf(json: Uint8Array, byteWeight: number, item: number): number {
  const scan = new JsonScan(json, STEP_WEIGHT, NEW_NAME, item);
  scan.weight = json.length * byteWeight;
  scan.run(json.length, MOST_EVENT_WEIGHT);
  return scan.weight;
}

/** `isHeavyJson` of a text. */
export function isHeavyText(text: string): boolean {
  return text.length > LIGHT_EVENT_BYTES / 3 && isHeavyJson(Buffer.from(text));
}

/** The error of a stream that has such an event. */
export function tooHeavyEvent(): GatewayError {
  return fail('upstream_garbage', 'an event of the stream is too long, or has too many members and items');
}
