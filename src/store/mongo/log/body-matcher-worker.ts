// The thread of `BodyMatcher`.
import { parentPort } from 'node:worker_threads';
import { zstdDecompressSync } from 'node:zlib';
import { backgroundThread } from '../../../lib/background-thread.ts';
import { bodiesHold } from '../../log/body-text.ts';
import type { BodiesRecord } from '../../log-store.ts';
import { LARGEST_TEXT } from './largest-text.ts';

export interface MatchRequest {
  readonly id: number;
  readonly data: Uint8Array;
  readonly needle: string;
}

export interface MatchAnswer {
  readonly id: number;
  readonly holds: boolean;
  readonly bytes: number;
  /** Why the record could not be read. */
  readonly fault?: string;
}

backgroundThread();
parentPort?.on('message', ({ id, data, needle }: MatchRequest) => {
  parentPort?.postMessage(answerOf(id, data, needle));
});

function answerOf(id: number, data: Uint8Array, needle: string): MatchAnswer {
  try {
    const text = zstdDecompressSync(data, { maxOutputLength: LARGEST_TEXT });
    const record = JSON.parse(text.toString()) as BodiesRecord;
    return { id, holds: bodiesHold(record, needle), bytes: text.length };
  } catch (error) {
    return { id, holds: false, bytes: 0, fault: String(error) };
  }
}
