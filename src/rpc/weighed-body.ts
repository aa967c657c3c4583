// The body of a gRPC, gRPC-Web or Connect request whose messages are judged before the library decodes them: decoding is
// one turn of the event loop, a short message can be expensive, and the library tells every fault of a message as a fault of
// the gateway. Compressed messages are decompressed here to be judged.
import { type DescMessage, fromBinary, type Message } from '@bufbuild/protobuf';
import { fail, type GatewayError } from '../lib/errors.ts';
import { decoderOf } from '../lib/incoming/decoders.ts';
import { joinedInTurns } from '../lib/incoming/pieces.ts';
import type { Reading } from '../lib/incoming/reading-budget.ts';
import { nextTurn } from '../lib/time-slices.ts';
import { Turns } from '../lib/turns.ts';
import { isTooHeavy } from '../rest/json-weight.ts';
import { wireFault } from './wire-weight.ts';

export interface WeighedBodyOptions {
  /** Of each message. */
  readonly desc: DescMessage;
  readonly isJson: boolean;
  /** Whether messages have a prefix each; otherwise the body is one message. */
  readonly isEnveloped: boolean;
  /** gzip, br or deflate; undefined: none, or one that the library refuses. */
  readonly compression: string | undefined;
  /** Longest message, in bytes, compressed or not. */
  readonly bodyLimit: number;
  /** Counts what is decompressed. */
  readonly reading: () => Reading;
  /**
   * Told of a long message, which is decoded here, in a turn of its own: the library is given an empty one in its place.
   * Undefined: the library decodes all.
   */
  readonly onLong: ((message: Message | undefined) => void) | undefined;
  readonly toError: (error: GatewayError) => Error;
}

/** A flag byte and four bytes of length. */
const PREFIX = 5;
const COMPRESSED = 1;
const NOTHING = new Uint8Array(0);
const LONG_BYTES = 1_048_576;
/** Protobuf's JSON is read at about half the speed of REST's, and its text is read twice: 10 MiB take 40 ms. */
const MOST_JSON_WEIGHT = 150_000;
const JSON_BYTE_WEIGHT = 0.0143;

/** The same messages, uncompressed. Ends with the error of the first that is malformed, too long or too expensive to decode. */
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
    if (bytes > options.bodyLimit) throw tooLong(options);
  }
  const message = held.length === 1 ? held[0]! : await joinedInTurns(held, bytes);
  held.length = 0;
  if (options.compression !== undefined && bytes > 0) {
    yield* decompressed(message, options.compression, options);
    return;
  }
  yield (await weigh(message, options)) ? NOTHING : message;
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
    const given = held.length === 1 ? held[0]! : await joinedInTurns(held, bytes);
    let at = 0;
    for (needed = PREFIX; given.length - at >= PREFIX; at += needed, needed = PREFIX) {
      const length = given.readUInt32BE(at + 1);
      if (length > options.bodyLimit) throw tooLong(options);
      needed = PREFIX + length;
      if (given.length - at < needed) break;
      yield* envelope(given.subarray(at, at + needed), options);
      await turns.step(needed);
    }
    held = at < given.length ? [given.subarray(at)] : [];
    bytes = given.length - at;
  }
  // The library says that the last message is incomplete.
  yield* held;
}

async function* envelope(given: Buffer, options: WeighedBodyOptions): AsyncGenerator<Uint8Array> {
  const message = given.subarray(PREFIX);
  const flags = given[0]!;
  if ((flags & ~COMPRESSED) !== 0)
    throw options.toError(
      fail('malformed_body', `a message of a request has the flags ${flags}; 0 and 1 are known`),
    );
  if ((flags & COMPRESSED) === 0 || message.length === 0) {
    yield (await weigh(message, options)) ? Buffer.alloc(PREFIX) : given;
    return;
  }
  if (options.compression === undefined)
    throw options.toError(
      fail('malformed_body', 'a message is flagged as compressed, and no header says by which compression'),
    );
  for await (const plain of decompressed(message, options.compression, options)) {
    const prefix = Buffer.alloc(PREFIX);
    prefix.writeUInt32BE(plain.length, 1);
    yield prefix;
    yield plain;
  }
}

/** One message. What it takes is counted until the library has decoded it. */
async function* decompressed(
  bytes: Uint8Array,
  compression: string,
  options: WeighedBodyOptions,
): AsyncGenerator<Uint8Array> {
  const reading = options.reading();
  try {
    let plain: Buffer;
    try {
      plain = await decoderOf(compression)!(bytes, options.bodyLimit, (held) => reading.hold(held));
    } catch (thrown) {
      throw options.toError(thrown as GatewayError);
    }
    yield (await weigh(plain, options)) ? NOTHING : plain;
  } finally {
    reading.release();
  }
}

function tooLong({ bodyLimit, toError }: WeighedBodyOptions): Error {
  return toError(fail('body_too_large', `the message is larger than ${bodyLimit} bytes`));
}

/** @returns whether it has been decoded @throws the error of a message that is malformed or too expensive to decode */
async function weigh(message: Uint8Array, options: WeighedBodyOptions): Promise<boolean> {
  const { desc, isJson, toError, onLong } = options;
  const isLong = message.length > LONG_BYTES;
  // Putting a long message together was a turn, and so is judging it.
  if (isLong) await nextTurn();
  if (isJson) {
    if (await isTooHeavy(message, MOST_JSON_WEIGHT, JSON_BYTE_WEIGHT))
      throw toError(
        fail(
          'body_too_large',
          'the message is too expensive to decode: as JSON it may have about 10 MiB of text, 20,000 members or 150,000 numbers; send it in parts or in the binary format',
        ),
      );
  } else {
    const fault = wireFault(desc, message);
    if (fault !== undefined) throw toError(fault);
  }
  if (!isLong || onLong === undefined) return false;
  await nextTurn();
  onLong(isJson ? undefined : fromBinary(desc, message));
  await nextTurn();
  return !isJson;
}
