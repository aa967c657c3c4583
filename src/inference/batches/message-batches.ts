// Anthropic's batches, which are passed through: who makes one is noted, and the rows of its results come into the books
// while they are fetched.
import type { ForwardResponse } from '../../../gen/gateway/inference/v2/proxy_pb.ts';
import type { Call } from '../../call/call.ts';
import { parsedObject, textOf } from '../../providers/json-object.ts';
import type { RawListener } from '../pipeline/raw-listener.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { ProviderNotes } from './provider-notes.ts';
import { type Fetched, type SettleDeps, settled } from './settle-output.ts';

/** Longest answer to a new batch that is read, in bytes. */
const MAX_ANSWER = 64 * 1024;
const BATCHES = /\/messages\/batches(?:\/([^/]+)\/results)?$/;
const ENDPOINT = '/v1/messages';

/** Takes part in `POST /messages/batches` and `GET /messages/batches/{id}/results`, at whichever provider. */
export function messageBatches(settling: SettleDeps): RawListener {
  return {
    listens(method, path) {
      if (!/batches/i.test(path) && !path.includes('%')) return undefined;
      const found = BATCHES.exec(plainPath(path));
      if (found === null) return undefined;
      const [, batchId] = found;
      if (method === 'POST' && batchId === undefined)
        return (call, bound, answer) => noted(settling.notes, call, bound, answer);
      if (method !== 'GET' || batchId === undefined) return undefined;
      return (call, bound, answer) =>
        booked(settling, { call, bound, fileId: batchId, batchId, endpoint: ENDPOINT }, answer);
    },
  };
}

/** The path as a server may read it: decoded, without dot segments, doubled slashes and one at its end. */
function plainPath(path: string): string {
  const [raw = ''] = path.split(/[?#]/, 1);
  try {
    const { pathname } = new URL(`http://host${decodeURIComponent(raw).replace(/[?#]/g, '')}`);
    return decodeURIComponent(pathname).replace(/\/+/g, '/').replace(/\/$/, '');
  } catch {
    return raw;
  }
}

/** The answer to a new batch: its last piece waits until it is noted who made it. */
async function* noted(
  notes: ProviderNotes,
  call: Call,
  bound: BoundTarget,
  answer: AsyncIterable<ForwardResponse>,
): AsyncGenerator<ForwardResponse> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  let waiting: ForwardResponse | undefined;
  for await (const piece of answer) {
    if (piece.kind.case === 'chunk') {
      bytes += piece.kind.value.length;
      // Copied: a piece may be a view of memory that is used again.
      if (bytes <= MAX_ANSWER) pieces.push(Buffer.from(piece.kind.value));
    }
    if (waiting !== undefined) yield waiting;
    waiting = piece;
  }
  const text = bytes <= MAX_ANSWER ? Buffer.concat(pieces).toString('utf8') : '';
  const id = textOf(parsedObject(text)?.id);
  if (id !== undefined) await notes.batch(call, bound, { id }, { endpoint: ENDPOINT });
  if (waiting !== undefined) yield waiting;
}

/** The results, booked. @throws GatewayError store_unavailable */
async function* booked(
  settling: SettleDeps,
  fetched: Fetched,
  answer: AsyncIterable<ForwardResponse>,
): AsyncGenerator<ForwardResponse> {
  let pieces: AsyncIterable<ForwardResponse>;
  try {
    pieces = await settled(settling, fetched, async () => answer);
  } catch (thrown) {
    await leave(answer);
    throw thrown;
  }
  yield* pieces;
}

/** Ends an answer that is not given: one that has not begun would not be ended. */
async function leave(answer: AsyncIterable<ForwardResponse>): Promise<void> {
  const pieces = answer[Symbol.asyncIterator]();
  await pieces.next();
  await pieces.return?.();
}
