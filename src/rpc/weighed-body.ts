// The body of a gRPC, gRPC-Web or Connect request whose messages are weighed before the library decodes them: decoding is
// one turn of the event loop, and a short message can be expensive. Compressed messages are decompressed here to be weighed.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DescMessage } from '@bufbuild/protobuf';
import type { Compression } from '@connectrpc/connect/protocol';
import { fail, type GatewayError } from '../lib/errors.ts';
import { Turns } from '../lib/turns.ts';
import { isTooHeavy } from '../rest/json-weight.ts';
import { isTooHeavyOnWire } from './wire-weight.ts';

export interface WeighedBodyOptions {
  /** Of each message. */
  readonly desc: DescMessage;
  readonly isJson: boolean;
  /** Whether messages have a prefix each; otherwise the body is one message. */
  readonly isEnveloped: boolean;
  /** Undefined: none, or one that the library refuses. */
  readonly compression: Compression | undefined;
  /** Longest message, in bytes. */
  readonly bodyLimit: number;
  /** Told of a message that is decoded in a turn of its own. */
  readonly onLong: () => void;
  readonly toError: (error: GatewayError) => Error;
}

/** A flag byte and four bytes of length. */
const PREFIX = 5;
const COMPRESSED = 1;
const LONG_BYTES = 1_048_576;
/** Protobuf's JSON is read at about half the speed of REST's, and its text is read twice: 10 MiB take 40 ms. */
const MOST_JSON_WEIGHT = 150_000;
const JSON_BYTE_WEIGHT = 0.0143;

/** The same messages, uncompressed. Ends with body_too_large at the first that is too expensive to decode. */
export function weighedBody(
  body: AsyncIterable<Buffer>,
  options: WeighedBodyOptions,
): AsyncGenerator<Uint8Array> {
  return options.isEnveloped ? envelopes(body, options) : whole(body, options);
}

async function* whole(body: AsyncIterable<Buffer>, options: WeighedBodyOptions): AsyncGenerator<Uint8Array> {
  const held: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body) {
    held.push(piece);
    bytes += piece.length;
    // The reader refuses it at this length.
    if (bytes > options.bodyLimit) yield* held.splice(0);
  }
  if (bytes > options.bodyLimit) return;
  let message: Uint8Array = held.length === 1 ? held[0]! : Buffer.concat(held, bytes);
  held.length = 0;
  if (options.compression !== undefined && bytes > 0) message = await decompressed(message, options);
  await weigh(message, options);
  yield message;
}

async function* envelopes(
  body: AsyncIterable<Buffer>,
  options: WeighedBodyOptions,
): AsyncGenerator<Uint8Array> {
  const turns = new Turns();
  let held: Buffer[] = [];
  let bytes = 0;
  let needed = PREFIX;
  for await (const piece of body) {
    held.push(piece);
    bytes += piece.length;
    if (bytes < needed) continue;
    const given = held.length === 1 ? held[0]! : Buffer.concat(held, bytes);
    let at = 0;
    for (needed = PREFIX; given.length - at >= PREFIX; at += needed, needed = PREFIX) {
      const length = given.readUInt32BE(at + 1);
      // The reader refuses it at its prefix.
      if (length > options.bodyLimit) yield given.subarray(at);
      needed = PREFIX + length;
      if (given.length - at < needed) break;
      yield* envelope(given.subarray(at, at + needed), options);
      await turns.step(needed);
    }
    held = at < given.length ? [given.subarray(at)] : [];
    bytes = given.length - at;
  }
  yield* held;
}

async function* envelope(given: Buffer, options: WeighedBodyOptions): AsyncGenerator<Uint8Array> {
  const message = given.subarray(PREFIX);
  if ((given[0]! & COMPRESSED) === 0 || options.compression === undefined || message.length === 0) {
    await weigh(message, options);
    yield given;
    return;
  }
  const plain = await decompressed(message, options);
  await weigh(plain, options);
  const prefix = Buffer.alloc(PREFIX);
  prefix[0] = given[0]! & ~COMPRESSED;
  prefix.writeUInt32BE(plain.length, 1);
  yield prefix;
  yield plain;
}

function decompressed(
  bytes: Uint8Array,
  { compression, bodyLimit }: WeighedBodyOptions,
): Promise<Uint8Array> {
  return compression!.decompress(bytes as Uint8Array<ArrayBuffer>, bodyLimit);
}

/** @throws the error of a message that is too expensive to decode */
async function weigh(message: Uint8Array, options: WeighedBodyOptions): Promise<void> {
  const { desc, isJson, toError, onLong } = options;
  if (isJson) {
    if (await isTooHeavy(message, MOST_JSON_WEIGHT, JSON_BYTE_WEIGHT))
      throw toError(
        fail(
          'body_too_large',
          'the message is too expensive to decode: as JSON it may have about 10 MiB of text, 20,000 members or 150,000 numbers; send it in parts or in the binary format',
        ),
      );
  } else if (isTooHeavyOnWire(desc, message))
    throw toError(
      fail(
        'body_too_large',
        'the message has too many fields and items: it may have about 20,000 submessages or 400,000 numbers; send it in parts',
      ),
    );
  if (message.length <= LONG_BYTES) return;
  onLong();
  await nextTurn();
}
