// The length of a body that is passed through, for what its call may use at the most: found before the call is admitted.
import type { Message } from '@bufbuild/protobuf';
import type { ForwardRequest } from '../../../gen/gateway/inference/v2/proxy_pb.ts';
import type { Call } from '../../call/call.ts';
import { arriving } from '../../inference/pipeline/arriving.ts';
import { codingsOf, decodedLength } from '../../lib/incoming/decoded-length.ts';

/** Bytes of a body that are read before its call is admitted; the rest is taken to be like them. */
const START_BYTES = 4 * 1024 * 1024;
/** Decoded bytes that are counted: more tokens than any model reads. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The messages of a call, and the bytes of its body as the provider will decode it. */
export interface MeasuredBody {
  readonly messages: AsyncIterable<Message>;
  readonly bytes: number;
  /** Leaves what was not read. */
  leave(): Promise<void>;
}

/**
 * Reads the head and the start of the body, and puts both back. Of a body over REST whose length is told and that is not
 * compressed nothing is read.
 */
export async function measuredBody(messages: AsyncIterable<Message>, call: Call): Promise<MeasuredBody> {
  const told = Number(call.headers.plain('content-length') ?? Number.NaN);
  const overRest = call.source.protocol === 'rest';
  if (overRest && told >= 0 && codingsOf(call.headers.plain('content-encoding')).length === 0)
    return { messages, bytes: told, leave: async () => {} };
  const input = messages[Symbol.asyncIterator]();
  const read: Message[] = [];
  const pieces: Uint8Array[] = [];
  let [bytes, ended] = [0, false];
  let head: ReadonlyMap<string, string> = new Map();
  const leave = async (): Promise<void> => void (await input.return?.());
  try {
    while (bytes < START_BYTES) {
      const next = await arriving(input.next(), call.signal);
      if (next.done) {
        ended = true;
        break;
      }
      read.push(next.value);
      const { kind } = next.value as ForwardRequest;
      if (kind.case === 'head')
        head = new Map(kind.value.headers.map(({ name, value }) => [name.toLowerCase(), value]));
      if (kind.case !== 'chunk') continue;
      pieces.push(kind.value);
      bytes += kind.value.length;
    }
  } catch (thrown) {
    await leave();
    throw thrown;
  }
  const announced = Number(head.get('content-length') ?? 0);
  const total = ended || !(announced > bytes) ? bytes : announced;
  const codings = codingsOf(head.get('content-encoding'));
  return {
    messages: replayed(read, input, ended),
    bytes: bytes === 0 ? 0 : await decodedLength(Buffer.concat(pieces), codings, total, MOST_BYTES),
    leave,
  };
}

async function* replayed(
  read: Message[],
  input: AsyncIterator<Message>,
  ended: boolean,
): AsyncGenerator<Message> {
  try {
    for (let next = read.shift(); next !== undefined; next = read.shift()) yield next;
    if (ended) return;
    for (let next = await input.next(); !next.done; next = await input.next()) yield next.value;
  } finally {
    await input.return?.();
  }
}
