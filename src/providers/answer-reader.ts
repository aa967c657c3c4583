// How the bytes of one streamed answer become its pieces: by frames, by runs of events, or as they are.
import type { Run } from '../lib/runs.ts';
import type { StreamTranslator } from './dialect.ts';
import { EventRuns } from './event-runs.ts';
import { type FrameParser, type Framing, frameParser } from './framing.ts';

/** Reads one answer. The translator's own end is its reader's to ask for. */
export interface AnswerReader {
  /** @throws GatewayError what the frames and the translator throw */
  push(bytes: Uint8Array): void;
  /** The bytes have ended. @throws GatewayError what the frames and the translator throw */
  end(): void;
}

/** @param take is given what the bytes add, as far as it came before an error */
export function answerReader<Chunk>(
  translator: StreamTranslator<Chunk>,
  framing: Framing,
  take: (chunks: readonly (Chunk | Run<Chunk>)[]) => void,
): AnswerReader {
  if (translator.take !== undefined)
    return { push: (bytes) => take(translator.take?.(bytes) ?? []), end: () => {} };
  if (framing === 'sse' && translator.repeat !== undefined) return new EventRuns(translator, take);
  const parser = frameParser(framing);
  const each = (events: ReturnType<FrameParser['push']>): void => {
    for (const event of events) {
      take(translator.push(event));
      if (translator.done) break;
    }
  };
  return { push: (bytes) => each(parser.push(bytes)), end: () => each(parser.end()) };
}
