// The JSON text that a message was read from, kept with the message so that an unchanged
// message is not serialised again. A change makes a new message: the text belongs to the
// object, not to its contents, so a copy does not have it.

import { PrivateMember } from './private-member.ts';

class Raw extends PrivateMember {
  #json: string | Uint8Array;

  constructor(message: object, json: string | Uint8Array) {
    super(message);
    this.#json = json;
  }

  static attach(message: object, json: string | Uint8Array): void {
    if (#json in message) message.#json = json;
    else new Raw(message, json);
  }

  static of(message: object): string | Uint8Array | undefined {
    return #json in message ? message.#json : undefined;
  }
}

/** Remembers the JSON text that says the same as the message. */
export function attachRawJson<T extends object>(message: T, json: string | Uint8Array): T {
  Raw.attach(message, json);
  return message;
}

/** The JSON text attached to the message, if any. */
export function rawJsonOf(message: object): string | Uint8Array | undefined {
  return Raw.of(message);
}
