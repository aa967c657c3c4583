// Arguments of a tool call, which OpenAI gives as a text.
import type { JsonObject } from '@bufbuild/protobuf';
import { invalidField } from '../../lib/errors.ts';
import { isObject } from '../json-object.ts';

/** The arguments as an object; empty for a blank text. @throws GatewayError `validation_failed`, naming `path` */
export function parsedArguments(text: string, path: string): JsonObject {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below: it is the caller's text, and the parser's message would only repeat it.
  }
  throw invalidField(path, 'must be the JSON text of an object');
}
