// The length of a compressed body, found without keeping what it is decoded to.
import { pipeline, Readable, type Transform } from 'node:stream';
import zlib from 'node:zlib';

const CHUNK = { chunkSize: 65_536 };
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGunzip(CHUNK),
  'x-gzip': () => zlib.createGunzip(CHUNK),
  deflate: () => zlib.createInflate(CHUNK),
  br: () => zlib.createBrotliDecompress(CHUNK),
  zstd: () => zlib.createZstdDecompress(CHUNK),
};
/** More than one coding in a row is for hiding a length. */
const MOST_CODINGS = 3;
/** JSON is rarely compressed to less than a tenth. */
const UNREAD_RATIO = 10;

/** The codings of a `content-encoding` header, in the order in which they were applied; `identity` is none. */
export function codingsOf(header: string | undefined): readonly string[] {
  return (header ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity');
}

/**
 * Decodes in slices on the thread pool and counts, up to `most` bytes.
 * @param bytes the start of a body, or all of it
 * @param total the body's length in bytes; the rest is taken to be as dense as its start
 * @returns bytes; of what cannot be decoded, ten times its length
 */
export async function decodedLength(
  bytes: Uint8Array,
  codings: readonly string[],
  total: number,
  most: number,
): Promise<number> {
  if (codings.length === 0) return Math.max(total, bytes.length);
  const unread = Math.max(total, bytes.length) * UNREAD_RATIO;
  const decoders = decodersOf(codings);
  if (decoders === undefined) return unread;
  let length = 0;
  try {
    const streams: [Readable, ...Transform[]] = [Readable.from([bytes]), ...decoders];
    const decoded = streams.reduce((from, to) => pipe(from, to as Transform));
    for await (const piece of decoded as AsyncIterable<Uint8Array>) {
      length += piece.length;
      if (length >= most) return most;
    }
  } catch {
    // Cut off after its start, or no such coding: providers refuse what they cannot read, too.
    if (bytes.length >= total || length === 0) return Math.min(most, Math.max(length, unread));
  }
  return Math.min(most, Math.ceil((length * Math.max(total, bytes.length)) / bytes.length));
}

/** What undoes the codings, in the order in which it is applied; undefined: one is not known, or they are too many. */
export function decodersOf(codings: readonly string[]): Transform[] | undefined {
  const decoders = codings.toReversed().map((coding) => DECODERS[coding]?.());
  return codings.length > MOST_CODINGS || decoders.includes(undefined)
    ? undefined
    : (decoders as Transform[]);
}

/** An error of either ends both; the reader hears of it. */
function pipe(from: Readable, to: Transform): Transform {
  return pipeline(from, to, () => {});
}
