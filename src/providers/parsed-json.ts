// A JSON text that another party wrote, read once.
import type { JsonValue } from '@bufbuild/protobuf';
import { isTooDeep } from '../lib/json-depth.ts';

/** Shorter texts cannot nest too deep. */
const SHALLOW_LENGTH = 1000;

/** The value; undefined for what is no JSON, and for what nests so deep that it could not be written again. */
export function parsedJson(text: string): JsonValue | undefined {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return text.length > SHALLOW_LENGTH && isTooDeep(value) ? undefined : value;
}
