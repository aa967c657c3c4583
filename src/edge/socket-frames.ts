// A client's frames as the messages of a session: the opening first, then what its WebSocket brings.
import { create } from '@bufbuild/protobuf';
import type { WebSocket } from 'ws';
import { type RealtimeFrame, RealtimeFrameSchema } from '../../gen/gateway/inference/v2/realtime_pb.ts';
import { FRAME_OVERHEAD } from '../lib/websocket-bounds.ts';
import type { SocketReading } from './socket-reading.ts';

/** Bytes that wait for the provider before the client's socket does. */
const MOST_BYTES = 256 * 1024;

/** For one reader. */
export class SocketFrames implements AsyncIterable<RealtimeFrame>, AsyncIterator<RealtimeFrame> {
  #frames: RealtimeFrame[];
  #bytes = 0;
  #ended = false;
  #ws: WebSocket | undefined;
  #reading: SocketReading | undefined;
  #wake: (() => void) | undefined;

  constructor(first: RealtimeFrame) {
    this.#frames = [first];
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** @param reading told of what waits */
  attach(ws: WebSocket, reading: SocketReading): void {
    this.#ws = ws;
    this.#reading = reading;
    ws.on('message', (data, isBinary) => {
      const bytes = data as Buffer;
      this.#count(bytes.length + FRAME_OVERHEAD);
      this.#push(
        isBinary
          ? create(RealtimeFrameSchema, { kind: { case: 'binary', value: new Uint8Array(bytes) } })
          : create(RealtimeFrameSchema, { kind: { case: 'text', value: bytes.toString('utf8') } }),
      );
      if (this.#bytes > MOST_BYTES) ws.pause();
    });
    ws.on('error', () => ws.terminate());
    ws.once('close', (code, reason) => {
      const isTold = code >= 1000 && code <= 4999 && code !== 1005 && code !== 1006;
      const value = { code: isTold ? code : 1001, reason: reason.toString('utf8') };
      this.#push(create(RealtimeFrameSchema, { kind: { case: 'close', value } }));
      this.end();
    });
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<RealtimeFrame, undefined>> {
    while (this.#frames.length === 0) {
      if (this.#ended) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const value = this.#frames.shift()!;
    const { kind } = value;
    if (kind.case === 'text') this.#count(-Buffer.byteLength(kind.value) - FRAME_OVERHEAD);
    else if (kind.case === 'binary') this.#count(-kind.value.length - FRAME_OVERHEAD);
    if (this.#ws?.isPaused && this.#bytes < MOST_BYTES / 2) this.#ws.resume();
    return { done: false, value };
  }

  async return(): Promise<IteratorResult<RealtimeFrame, undefined>> {
    this.end();
    return { done: true, value: undefined };
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#reading?.wait(this.#bytes);
  }

  #push(frame: RealtimeFrame): void {
    if (this.#ended) return;
    this.#frames.push(frame);
    this.#wake?.();
  }
}
