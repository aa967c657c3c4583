// JSON text that a message was read from, kept beside it so that what is given back or
// sent on unchanged is not written again. Whoever changes a message makes a new one:
// the text belongs to the object, not to its contents, so it does not go along with a copy.
const raw: unique symbol = Symbol('raw-json');

interface WithRaw {
  [raw]?: string | Uint8Array;
}

/** Remembers the JSON text that says the same as the message. */
export function attachRawJson<T extends object>(message: T, json: string | Uint8Array): T {
  return Object.defineProperty(message, raw, { value: json, enumerable: false });
}

/** The JSON text attached to the message, if any. */
export function rawJsonOf(message: object): string | Uint8Array | undefined {
  return (message as WithRaw)[raw];
}
