// How the events of a streamed answer are told from each other: text lines, or AWS's binary frames.
import { AwsEventStreamParser } from '../lib/aws-event-stream.ts';
import { type SseEvent, SseParser } from '../lib/sse.ts';

/** The form of a stream's events. */
export type Framing = 'sse' | 'aws-event-stream';

/** Reads one stream, however its bytes are cut. */
export interface FrameParser {
  /** The events that the bytes complete. @throws GatewayError `upstream_garbage` */
  push(chunk: Uint8Array): SseEvent[];
  /** The bytes have ended. @throws GatewayError `upstream_garbage` */
  end(): SseEvent[];
}

/** A parser for one stream. */
export function frameParser(framing: Framing): FrameParser {
  return framing === 'sse' ? new SseParser() : new AwsEventStreamParser();
}

/** The framing that a content type says; undefined: the answer is no stream of events. */
export function framingOf(contentType: string): Framing | undefined {
  if (/^text\/event-stream\b/i.test(contentType)) return 'sse';
  return /^application\/vnd\.amazon\.eventstream\b/i.test(contentType) ? 'aws-event-stream' : undefined;
}
