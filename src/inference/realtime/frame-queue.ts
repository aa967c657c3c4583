// Frames that wait for their reader. The source is told to pause while many wait.
import { create } from '@bufbuild/protobuf';
import { type RealtimeFrame, RealtimeFrameSchema } from '../../../gen/gateway/inference/v2/realtime_pb.ts';
import { FRAME_OVERHEAD } from '../../lib/websocket-bounds.ts';

/** Bytes that wait before the source pauses, and below which it goes on. */
const MOST_BYTES = 256 * 1024;

/** What frames come from. */
export interface FrameSource {
  pause(): void;
  resume(): void;
}

/** For one reader. */
export class FrameQueue {
  readonly #source: FrameSource;
  #frames: RealtimeFrame[] = [];
  #bytes = 0;
  #paused = false;
  #ended = false;
  #wake: (() => void) | undefined;
  #roomy: (() => void) | undefined;

  constructor(source: FrameSource) {
    this.#source = source;
  }

  push(frame: RealtimeFrame): void {
    if (this.#ended) return;
    this.#frames.push(frame);
    this.#bytes += sizeOf(frame);
    if (frame.kind.case === 'close') {
      this.#ended = true;
      this.#roomy?.();
    }
    if (!this.#paused && this.#bytes > MOST_BYTES) {
      this.#paused = true;
      this.#source.pause();
    }
    this.#wake?.();
  }

  /** Undefined when a frame may be pushed that the source did not bring; else resolves when the reader has read, or there is an end. */
  room(): Promise<void> | undefined {
    if (this.#ended || this.#bytes <= MOST_BYTES) return undefined;
    return new Promise((resolve) => {
      this.#roomy = resolve;
    });
  }

  /** Undefined after the end. */
  async next(): Promise<RealtimeFrame | undefined> {
    while (this.#frames.length === 0) {
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const frame = this.#frames.shift();
    if (frame !== undefined) this.#bytes -= sizeOf(frame);
    if (this.#bytes < MOST_BYTES / 2) {
      this.#roomy?.();
      if (this.#paused) this.#source.resume();
      this.#paused = false;
    }
    return frame;
  }
}

function sizeOf({ kind }: RealtimeFrame): number {
  return FRAME_OVERHEAD + (kind.case === 'text' || kind.case === 'binary' ? kind.value.length : 0);
}

/** A frame as it came off a WebSocket. */
export function frameOf(data: Buffer, isBinary: boolean): RealtimeFrame {
  if (!isBinary) return create(RealtimeFrameSchema, { kind: { case: 'text', value: data.toString('utf8') } });
  return create(RealtimeFrameSchema, { kind: { case: 'binary', value: new Uint8Array(data) } });
}

/** A frame of an event of the gateway's own. */
export function eventFrame(event: object): RealtimeFrame {
  return create(RealtimeFrameSchema, { kind: { case: 'text', value: JSON.stringify(event) } });
}

/** The end. A code that says that there was none (1005, 1006) is one without a word. */
export function closeFrame(code: number, reason: string): RealtimeFrame {
  const told = sendable(code) ? code : 1000;
  return create(RealtimeFrameSchema, { kind: { case: 'close', value: { code: told, reason } } });
}

/** Whether a close frame may carry the code (RFC 6455, part 7.4). */
export function sendable(code: number): boolean {
  return (
    (code >= 1000 && code <= 1014 && code !== 1004 && code !== 1005 && code !== 1006) ||
    (code >= 3000 && code <= 4999)
  );
}
