// The JSON text that a message was read from, kept with the message so that an unchanged
// message is not serialised again. A change makes a new message: the text belongs to the
// object, not to its contents, so a copy does not have it.

import type { JsonObject } from '@bufbuild/protobuf';
import { PrivateMember } from './private-member.ts';

class Raw extends PrivateMember {
  #json: string | Uint8Array | undefined;
  #value: unknown;

  constructor(message: object, json: string | Uint8Array | undefined, value: unknown) {
    super(message);
    this.#json = json;
    this.#value = value;
  }

  static attach(message: object, json: string | Uint8Array | undefined, value: unknown): void {
    if (#json in message) {
      message.#json = json;
      message.#value = value;
    } else new Raw(message, json, value);
  }

  static of(message: object): string | Uint8Array | undefined {
    return #json in message ? message.#json : undefined;
  }

  static value(message: object): unknown {
    return #json in message ? message.#value : undefined;
  }
}

/**
 * Remembers the JSON text that says the same as the message.
 * @param value of the text, where it is at hand: it is not parsed a second time
 */
export function attachRawJson<T extends object>(message: T, json: string | Uint8Array, value?: unknown): T {
  Raw.attach(message, json, value);
  return message;
}

/** The JSON text attached to the message, if any. */
export function rawJsonOf(message: object): string | Uint8Array | undefined {
  return Raw.of(message);
}

/** Remembers what the message's JSON says where its text is too long to be written at once. */
export function attachJsonValue<T extends object>(message: T, value: JsonObject): T {
  Raw.attach(message, undefined, value);
  return message;
}

/** What the JSON of a message without a text says, if it is known. Not to be changed. */
export function jsonValueOf(message: object): JsonObject | undefined {
  return Raw.of(message) === undefined ? (Raw.value(message) as JsonObject | undefined) : undefined;
}

/** What the text that is attached to the message says, where it is at hand. Not to be changed. */
export function parsedValueOf(message: object): unknown {
  return Raw.of(message) === undefined ? undefined : Raw.value(message);
}

/** JSON as a text. */
export function jsonText(json: string | Uint8Array): string {
  if (typeof json === 'string') return json;
  // A view: Buffer.from of bytes would copy them.
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8');
}

/** What the JSON text that is attached to the message says; undefined without one. Not to be changed. */
export function rawValueOf(message: object): unknown {
  const json = Raw.of(message);
  return json === undefined ? undefined : (Raw.value(message) ?? JSON.parse(jsonText(json)));
}
