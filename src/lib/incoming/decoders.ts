// Compressed bodies and messages, decompressed whole within a bound.
import zlib from 'node:zlib';
import { fail } from '../errors.ts';
import { Pieces } from './pieces.ts';

/** Bytes that are decompressed at once, at the most. */
const CHUNK = 65_536;

const STREAMS: Readonly<Record<string, () => zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress>> = {
  gzip: () => zlib.createGunzip({ chunkSize: CHUNK }),
  deflate: () => zlib.createInflate({ chunkSize: CHUNK }),
  br: () => zlib.createBrotliDecompress({ chunkSize: CHUNK }),
};

/**
 * Decompresses.
 * @param limit most bytes that come out
 * @param onHeld told of the bytes of memory that are held now; what it throws ends the work
 * @throws GatewayError malformed_body, body_too_large
 */
export type Decoder = (bytes: Uint8Array, limit: number, onHeld: (bytes: number) => void) => Promise<Buffer>;

/** The decoder of a content coding; undefined for one that is not known. */
export function decoderOf(coding: string): Decoder | undefined {
  const open = Object.hasOwn(STREAMS, coding) ? STREAMS[coding] : undefined;
  if (open === undefined) return undefined;
  return async (bytes, limit, onHeld) => {
    const pieces = await piecesOf(open(), bytes, coding, limit, onHeld);
    return pieces.takeInTurns();
  };
}

function piecesOf(
  stream: ReturnType<(typeof STREAMS)[string]>,
  bytes: Uint8Array,
  coding: string,
  limit: number,
  onHeld: (bytes: number) => void,
): Promise<Pieces> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const stop = (error: unknown): void => {
      stream.destroy();
      reject(error);
    };
    stream.on('data', (piece: Buffer) => {
      pieces.push(piece);
      try {
        if (pieces.bytes > limit)
          throw fail('body_too_large', `the body is larger than ${limit} bytes when it is decompressed`);
        onHeld(pieces.held);
      } catch (error) {
        stop(error);
      }
    });
    stream.on('end', () => resolve(pieces));
    stream.on('error', (cause) => stop(fail('malformed_body', `the body is not valid ${coding}`, { cause })));
    stream.end(bytes);
  });
}
