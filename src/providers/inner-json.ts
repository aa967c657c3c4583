// JSON that stands in texts of a request or an answer: arguments of tool calls, and what tools answered.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { invalidField } from '../lib/errors.ts';
import { MOST_EVENT_WEIGHT, rewritingWeight } from '../lib/heavy-event.ts';
import { isObject } from './json-object.ts';
import { parsedJson } from './parsed-json.ts';

/**
 * Reads the JSON in the texts of one request or answer, as long as all of it together is cheap to read and to write again. The
 * weight of the body does not tell: to the body, each is a text.
 */
export class InnerJson {
  #weight = 0;

  /** Whether texts were not read because all of them together are too much. */
  get exceeded(): boolean {
    return this.#weight > MOST_EVENT_WEIGHT;
  }

  /** A tool call's arguments; empty for a blank text. @throws GatewayError `validation_failed`, naming `path` */
  arguments(text: string, path: string): JsonObject {
    if (text.trim() === '') return {};
    const value = this.object(text);
    if (value !== undefined) return value;
    // The parser's message would only repeat the caller's text.
    throw invalidField(
      path,
      this.exceeded
        ? 'has too many members and items, with those of the calls before it'
        : 'must be the JSON text of an object',
    );
  }

  /** The object that a text says; undefined when it is none, nests too deep, or is too much with what was read before. */
  object(text: string): JsonObject | undefined {
    const value = text.trimStart().startsWith('{') ? this.value(text) : undefined;
    return isObject(value) ? value : undefined;
  }

  /** As `object`, of any value. */
  value(text: string): JsonValue | undefined {
    this.#weight += rewritingWeight(Buffer.from(text));
    return this.exceeded ? undefined : parsedJson(text);
  }
}
