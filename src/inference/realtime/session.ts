// One session: frames both ways as they are, what is paid for in the books, and its end.

import { create } from '@bufbuild/protobuf';
import { WebSocket } from 'ws';
import { type RealtimeFrame, RealtimeFrameSchema } from '../../../gen/gateway/inference/v2/realtime_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail, type GatewayError, toGatewayError } from '../../lib/errors.ts';
import { isTooHeavy, LIGHT_BYTES } from '../../rest/json-weight.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { callerEvent } from './caller-event.ts';
import type { Dialled } from './dial.ts';
import { type EventReader, GeminiEvents, OpenAiEvents, type Told } from './events.ts';
import { closeFrame, eventFrame, FrameQueue, frameOf, sendable } from './frame-queue.ts';
import { SessionGuards } from './guards.ts';
import { Transcript } from './transcript.ts';
import { type Turn, type TurnPort, Turns } from './turns.ts';

/** Bytes to the provider that wait before the caller's frames do. */
const MOST_UNSENT = 256 * 1024;
/** Responses of one session that have not ended: more are not asked for, and a provider that begins more is left. */
const MOST_OPEN = 64;
/** How long the provider may take to answer a close, in milliseconds. */
const CLOSE_MS = 5000;

/** How long sessions may be. */
export interface SessionTimes {
  readonly idleMs: number;
  readonly maxMs: number;
}

/** A session that both sides have opened. */
export class Session {
  readonly #call: Call;
  readonly #ws: WebSocket;
  readonly #queue: FrameQueue;
  readonly #events: EventReader;
  readonly #turns: Turns;
  readonly #guards: SessionGuards;
  readonly #transcript: Transcript;
  readonly #times: SessionTimes;
  /** Responses under way by the provider's ids, and admitted ones that have not begun. */
  readonly #running = new Map<string, Turn>();
  readonly #admitted: Turn[] = [];
  readonly #binaryEvents: boolean;
  #lastAt = performance.now();
  #idle: NodeJS.Timeout;
  readonly #max: NodeJS.Timeout;
  #over = false;
  readonly #aborted = (): void => this.#end(1001, 'the session was ended');

  constructor(pipeline: Pipeline, port: TurnPort, call: Call, dialled: Dialled, times: SessionTimes) {
    const { ws, bound, model, early } = dialled;
    this.#call = call;
    this.#ws = ws;
    this.#times = times;
    this.#binaryEvents = bound.target.provider.realtime?.events === 'gemini';
    this.#events = this.#binaryEvents ? new GeminiEvents() : new OpenAiEvents();
    this.#turns = new Turns(pipeline, port, call, dialled);
    this.#guards = new SessionGuards(pipeline, call, bound, model);
    this.#transcript = new Transcript(call.bodies);
    this.#queue = new FrameQueue({
      pause: () => ws.readyState === WebSocket.OPEN && ws.pause(),
      resume: () => ws.readyState === WebSocket.OPEN && ws.resume(),
    });
    for (const [data, isBinary] of early) this.#queue.push(frameOf(data, isBinary));
    ws.on('message', (data, isBinary) => {
      this.#lastAt = performance.now();
      this.#queue.push(frameOf(data as Buffer, isBinary));
    });
    ws.once('close', (code, reason) => this.#queue.push(closeFrame(code, reason.toString('utf8'))));
    ws.removeAllListeners('error').on('error', () =>
      this.#queue.push(closeFrame(1011, 'the provider broke off')),
    );
    this.#idle = setTimeout(() => this.#checkIdle(), times.idleMs);
    this.#max = setTimeout(() => this.#end(1000, 'the session has lasted as long as it may'), times.maxMs);
    call.signal.addEventListener('abort', this.#aborted);
    ws.resume();
  }

  /** The frames to the caller, `opened` first. Leaving them ends the session. */
  async *frames(input: AsyncIterator<RealtimeFrame>): AsyncGenerator<RealtimeFrame> {
    void this.#pump(input);
    try {
      yield create(RealtimeFrameSchema, { kind: { case: 'opened', value: {} } });
      for (let frame = await this.#queue.next(); frame !== undefined; frame = await this.#queue.next()) {
        const goesOn = await this.#fromProvider(frame);
        if (goesOn !== undefined) yield goesOn;
        if (frame.kind.case === 'close') return;
      }
    } finally {
      this.#leave();
      // Not waited for: the caller's next frame may never come.
      input.return?.()?.catch(() => {});
    }
  }

  /** The frame, once what it tells is booked and judged; undefined: it is kept back. */
  async #fromProvider(frame: RealtimeFrame): Promise<RealtimeFrame | undefined> {
    const text = this.#textOf(frame);
    if (text === undefined) return frame;
    try {
      if (text.length > LIGHT_BYTES && (await isTooHeavy(Buffer.from(text))))
        throw fail('upstream_garbage', 'the provider sent an event with too many members');
      const told = this.#events.fromProvider(text);
      if (told !== undefined) await this.#note(told);
      return frame;
    } catch (thrown) {
      this.#refuse(toGatewayError(thrown), true);
      return undefined;
    }
  }

  async #note(told: Told): Promise<void> {
    const { signal } = this.#call;
    switch (told.kind) {
      case 'began': {
        if (this.#running.size >= MOST_OPEN)
          throw fail('upstream_garbage', 'the provider began too many responses');
        const turn = this.#admitted.shift() ?? (await this.#turns.begin());
        if (this.#over) turn.break();
        else this.#running.set(told.id, turn);
        return;
      }
      case 'ended': {
        const turn = this.#running.get(told.id) ?? this.#admitted.shift() ?? (await this.#turns.begin());
        this.#running.delete(told.id);
        turn.end(told.usage, told.failed);
        this.#transcript.add('assistant', told.text);
        await this.#guards.said(told.text, signal);
        return;
      }
      case 'paid': {
        (await this.#turns.begin(told.model)).end(told.usage, false);
        this.#transcript.add(this.#binaryEvents ? 'assistant' : 'user', told.text);
        if (this.#binaryEvents) await this.#guards.said(told.text, signal);
        else await this.#guards.heard(told.text, signal);
        return;
      }
      case 'said':
        this.#transcript.add('user', told.text);
        await this.#guards.heard(told.text, signal);
    }
  }

  async #pump(input: AsyncIterator<RealtimeFrame>): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await input.next();
        if (done) return this.#end(1000, '');
        this.#lastAt = performance.now();
        const { kind } = value;
        if (kind.case === 'close') return this.#closeProvider(kind.value.code, kind.value.reason);
        if (kind.case !== 'text' && kind.case !== 'binary')
          return this.#end(1008, 'only frames may follow the opening');
        const data = await this.#judged(kind.value);
        if (data !== undefined) await this.#send(data);
        if (this.#over) return;
        // Answers to the caller's frames use the same queue, so the next frame waits until it has room.
        await this.#queue.room();
      }
    } catch {
      this.#end(1011, 'the client broke off');
    }
  }

  /** What goes to the provider of a caller's frame; undefined: nothing does, e.g. since limits refuse the response. */
  async #judged(data: string | Uint8Array): Promise<string | Uint8Array | undefined> {
    try {
      const read = await callerEvent(data, this.#binaryEvents);
      const asked = read && this.#events.fromCaller(read.event);
      if (asked !== undefined) {
        await this.#guards.heard(asked.text, this.#call.signal);
        this.#transcript.add('user', asked.text);
        if (asked.asks) await this.#admit();
      }
      return read?.data ?? data;
    } catch (thrown) {
      this.#refuse(toGatewayError(thrown), false);
      return undefined;
    }
  }

  /** @throws GatewayError rate_limited, and as `Turns.begin` */
  async #admit(): Promise<void> {
    if (this.#admitted.length + this.#running.size >= MOST_OPEN)
      throw fail('rate_limited', `${MOST_OPEN} responses of this session have not ended: wait for one`);
    const turn = await this.#turns.begin();
    if (this.#over) turn.break();
    else this.#admitted.push(turn);
  }

  /** Tells the caller; the session ends where it may not go on. @param late the provider has done it already */
  #refuse(error: GatewayError, late: boolean): void {
    if (this.#over) return;
    const { reason: code, message, status } = error;
    this.#queue.push(
      eventFrame({ type: 'error', error: { type: error.details.type ?? code, code, message, status } }),
    );
    if (late || status === 401 || status === 403) this.#end(1008, code);
  }

  #textOf({ kind }: RealtimeFrame): string | undefined {
    if (kind.case === 'text') return kind.value;
    if (kind.case !== 'binary' || !this.#binaryEvents) return undefined;
    return Buffer.from(kind.value.buffer, kind.value.byteOffset, kind.value.length).toString('utf8');
  }

  /** Waits while much is unsent, so that the caller's frames wait too. */
  #send(data: string | Uint8Array): Promise<void> {
    const ws = this.#ws;
    return new Promise((resolve) => {
      if (ws.readyState !== WebSocket.OPEN) return resolve();
      const sent = (): void => resolve();
      ws.send(data, { binary: typeof data !== 'string' }, sent);
      if (ws.bufferedAmount < MOST_UNSENT) resolve();
    });
  }

  #checkIdle(): void {
    const left = this.#times.idleMs - (performance.now() - this.#lastAt);
    if (left > 0) this.#idle = setTimeout(() => this.#checkIdle(), left);
    else this.#end(1000, 'the session was idle for too long');
  }

  /** Ends both sides with a reason of the gateway's own. */
  #end(code: number, reason: string): void {
    if (this.#over) return;
    this.#queue.push(closeFrame(code, reason));
    this.#closeProvider(code, reason);
  }

  /** The provider's own close, in answer, ends the session. */
  #closeProvider(code: number, reason: string): void {
    const ws = this.#ws;
    if (ws.readyState !== WebSocket.OPEN) {
      ws.terminate();
      return;
    }
    ws.resume();
    if (sendable(code)) ws.close(code, reason);
    else ws.close();
    const timer = setTimeout(() => ws.terminate(), CLOSE_MS).unref();
    ws.once('close', () => clearTimeout(timer));
  }

  #leave(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#idle);
    clearTimeout(this.#max);
    this.#call.signal.removeEventListener('abort', this.#aborted);
    for (const turn of [...this.#running.values(), ...this.#admitted]) turn.break();
    this.#running.clear();
    this.#admitted.length = 0;
    this.#closeProvider(1000, '');
  }
}

/** The first message of a caller. @throws GatewayError validation_failed */
export function openingOf(frame: RealtimeFrame | undefined) {
  if (frame?.kind.case === 'open') return frame.kind.value;
  throw fail('validation_failed', 'open: must be the first message', { param: 'open' });
}
