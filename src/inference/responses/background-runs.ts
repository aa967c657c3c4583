// Responses that the gateway makes in the background, for providers that have no such thing. Each is one call that goes
// on after its answer: admitted, limited, logged and booked like any other. It is kept from its first moment on; while it
// is made a mark says so, which is over by itself when the process dies, and the response has failed then.
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import { type ResponseEvent, ResponseEventSchema } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail, type GatewayError, toGatewayError } from '../../lib/errors.ts';
import { rawJsonOf } from '../../lib/raw-json.ts';
import { jsonOf } from '../../providers/forms/json-of.ts';
import { eventMessage } from '../../providers/forms/responses/pieces.ts';
import { objectOf, textOf } from '../../providers/json-object.ts';
import { codec } from '../../rest/codec.ts';
import { EventLog } from './event-log.ts';
import { failedEvent } from './failed-event.ts';
import type { KeptResponse, KeptResponses, KeptWhole } from './kept-responses.ts';

type Owner = Parameters<KeptResponses['get']>[0];

/** Of one process. */
const MOST_RUNS = 512;
/** How long a mark counts that a response is being made, and how often it is made anew, in milliseconds. */
const MARK_MS = 20_000;
const TICK_MS = 1000;
const TICKS_A_MARK = 5;
const CLOSE_MS = 5000;
/** How long a response of another process is waited for that is to stop. */
const LOOK_MS = 250;
const MOST_LOOKS = 40;

const LIFE = /^response\.(?:created|in_progress|queued|completed|incomplete|failed|cancelled)$/;

/** What a run is of. */
export interface RunOf {
  readonly id: string;
  readonly owner: Owner;
  readonly call: Call;
  /** Its response as it is queued. */
  readonly queued: JsonObject;
  readonly input: Pick<KeptWhole, 'input' | 'before'>;
  /** Makes it. */
  readonly events: () => Promise<AsyncIterable<ResponseEvent>>;
  /** Who made it, when it has been. */
  readonly made: () => Omit<KeptResponse, 'whole'>;
}

/** The runs of this process. */
export class BackgroundRuns {
  readonly #kept: KeptResponses;
  readonly #alone: boolean;
  readonly #runs = new Map<string, Run>();
  #closed = false;

  /** @param alone whether no other process makes responses of the same store */
  constructor(kept: KeptResponses, alone: boolean) {
    this.#kept = kept;
    this.#alone = alone;
  }

  /** @throws GatewayError overloaded, store_unavailable, body_too_large */
  async begin(of: RunOf): Promise<Run> {
    if (this.#closed || this.#runs.size >= MOST_RUNS)
      throw fail('overloaded', 'too many responses are made in the background', { retryAfterMs: 1000 });
    const run = new Run(this.#kept, of);
    const key = keyOf(of.owner, of.id);
    this.#runs.set(key, run);
    try {
      await run.open();
    } catch (thrown) {
      this.#runs.delete(key);
      throw thrown;
    }
    return run;
  }

  /** Runs it to its end. */
  async finish(run: Run): Promise<void> {
    try {
      await run.toEnd();
    } finally {
      this.#runs.delete(keyOf(run.of.owner, run.of.id));
    }
  }

  /** Undefined: this process does not make it. */
  get(owner: Owner, id: string): Run | undefined {
    return this.#runs.get(keyOf(owner, id));
  }

  /** A kept response as it is: one that nothing makes any more has failed. @throws GatewayError store_unavailable */
  async settled(owner: Owner, id: string, found: KeptResponse): Promise<KeptResponse> {
    const run = this.get(owner, id);
    if (found.whole === undefined || isOver(found.whole.response)) return found;
    if (run !== undefined) return { ...found, whole: { ...found.whole, response: run.response } };
    if (!this.#alone && (await this.#kept.hasMark(owner, id, 'run'))) return found;
    // It may have come to its end meanwhile.
    const { whole, ...made } = (await this.#kept.get(owner, id)) ?? found;
    if (whole === undefined || isOver(whole.response)) return { ...made, ...(whole && { whole }) };
    const { message, details } = STOPPED;
    const response = { ...whole.response, status: 'failed', error: { code: details.code ?? '', message } };
    const failed = { ...made, whole: { ...whole, response } };
    await this.#kept.put(owner, id, failed);
    return failed;
  }

  /** Stops a response, whichever process makes it, and gives it as it is then. @throws GatewayError store_unavailable */
  async cancel(owner: Owner, id: string, found: KeptResponse): Promise<KeptResponse> {
    const run = this.get(owner, id);
    if (run === undefined) await this.#kept.mark(owner, id, 'stop', MARK_MS);
    else run.cancel();
    await run?.over;
    for (let tries = 0; ; tries++) {
      const now = await this.settled(owner, id, (await this.#kept.get(owner, id)) ?? found);
      if (now.whole === undefined || isOver(now.whole.response) || tries >= MOST_LOOKS) return now;
      await sleep(LOOK_MS);
    }
  }

  /** Ends all runs, which have failed. */
  async close(): Promise<void> {
    this.#closed = true;
    const runs = [...this.#runs.values()];
    for (const run of runs) run.stop(STOPPED);
    let late: NodeJS.Timeout | undefined;
    const waited = new Promise<void>((resolve) => {
      late = setTimeout(resolve, CLOSE_MS);
    });
    await Promise.race([Promise.all(runs.map((run) => run.over)), waited]);
    clearTimeout(late);
  }
}

/** Why a response has failed that no process makes any more. */
export const STOPPED = fail('overloaded', 'the gateway stopped before the response was made', {
  code: 'server_error',
});
const CANCELLED = fail('client_closed', 'the response was cancelled');

function keyOf({ organisationId, workspaceId = '' }: Owner, id: string): string {
  return `${organisationId}/${workspaceId}/${id}`;
}

/** One response. */
export class Run {
  readonly of: RunOf;
  readonly #kept: KeptResponses;
  readonly log = new EventLog();
  #response: JsonObject;
  /** The id that it has where it is made. */
  #name: string | undefined;
  #part = 0;
  #written = 0;
  #isCancelled = false;
  #tell: () => void = () => {};
  /** Resolves when it is over and kept. */
  readonly over: Promise<void>;

  constructor(kept: KeptResponses, of: RunOf) {
    this.#kept = kept;
    this.of = of;
    this.#response = of.queued;
    this.over = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  /** As it is now. */
  get response(): JsonObject {
    return this.#response;
  }

  /** @throws GatewayError store_unavailable, body_too_large */
  async open(): Promise<void> {
    const { id, owner } = this.of;
    await this.#kept.mark(owner, id, 'run', MARK_MS);
    if (!(await this.#kept.mustPut(owner, id, this.#whole())))
      throw fail('body_too_large', 'input: is too long to be kept, as a response in the background must be');
    this.#note({ type: 'response.created', sequence_number: 0, response: this.#response });
  }

  cancel(): void {
    this.#isCancelled = true;
    this.stop(CANCELLED);
  }

  stop(reason: GatewayError): void {
    this.of.call.stop(reason);
  }

  /** Makes the response. What goes wrong is told by its last event, and thrown. */
  async toEnd(): Promise<void> {
    const { id, owner, events } = this.of;
    let ticks = 0;
    let work: Promise<void> = Promise.resolve();
    const timer = setInterval(() => {
      ticks++;
      const isMark = ticks % TICKS_A_MARK === 0;
      work = work.then(() => this.#tick(isMark)).catch(() => {});
    }, TICK_MS);
    let thrown: unknown;
    try {
      for await (const event of await events()) this.#take(event);
      if (!isOver(this.#response)) throw fail('upstream_interrupted', 'the answer has no end');
    } catch (error) {
      thrown = error;
      this.#fail(toGatewayError(error));
    } finally {
      clearInterval(timer);
      await work;
      await this.#close();
      await this.#kept.unmark(owner, id, 'run').catch(() => {});
      this.log.end();
      this.#tell();
    }
    if (thrown !== undefined) throw thrown;
  }

  /** One that was deleted meanwhile stays so. */
  async #close(): Promise<void> {
    const { id, owner } = this.of;
    const isThere = await this.#kept.get(owner, id).then(
      (found) => found !== undefined,
      () => true,
    );
    if (!isThere) return void (await this.#kept.remove(owner, id).catch(() => {}));
    await this.#flush();
    await this.#kept.put(owner, id, this.#whole());
  }

  /** Its id and those of its items are its own: the response has a name before it is made. */
  #take(event: ResponseEvent): void {
    const raw = rawJsonOf(event);
    const text = typeof raw === 'string' ? raw : JSON.stringify(jsonOf(codec, ResponseEventSchema, event));
    const { type } = event;
    const response = LIFE.test(type) ? objectOf((JSON.parse(text) as JsonObject).response) : undefined;
    if (response === undefined) {
      this.#push(this.#renamed(text));
      return;
    }
    this.#name ??= textOf(response.id);
    if (type === 'response.created') return;
    const own = JSON.parse(this.#renamed(text)) as JsonObject;
    const { created_at, previous_response_id } = this.of.queued;
    const told: JsonObject = {
      ...objectOf(own.response),
      id: this.of.id,
      background: true,
      created_at: created_at ?? null,
      previous_response_id: previous_response_id ?? null,
    };
    this.#note({ ...own, response: told });
    this.#response = told;
  }

  #renamed(text: string): string {
    const [, key] = /^resp_([0-9a-f]{32})$/.exec(this.#name ?? '') ?? [];
    return key === undefined ? text : text.replaceAll(key, this.of.id.slice('resp_'.length));
  }

  #note(event: JsonObject): void {
    this.#push(JSON.stringify(event));
  }

  /** @throws GatewayError upstream_garbage */
  #push(text: string): void {
    if (!this.log.push(text))
      throw fail('upstream_garbage', 'the response is too long to be kept, as one in the background must be');
  }

  #fail(error: GatewayError): void {
    const last = this.log.texts.at(-1)!;
    const read = (text: string): ResponseEvent => eventMessage(codec, JSON.parse(text) as JsonObject);
    const begun = eventMessage(codec, { type: 'response.created', response: this.#response });
    const failed = jsonOf(codec, ResponseEventSchema, failedEvent(begun, read(last), error));
    const response = { ...(failed.response as JsonObject), background: true };
    if (this.#isCancelled) {
      this.#response = { ...response, status: 'cancelled', error: null };
      this.#note({ ...failed, type: 'response.cancelled', response: this.#response });
    } else {
      this.#response = response;
      this.log.push(JSON.stringify({ ...failed, response }));
    }
  }

  /** Other processes read what is kept. */
  async #tick(isMark: boolean): Promise<void> {
    const { id, owner } = this.of;
    if (isMark) await this.#kept.mark(owner, id, 'run', MARK_MS);
    await this.#flush();
    if (await this.#kept.hasMark(owner, id, 'stop')) this.cancel();
  }

  async #flush(): Promise<void> {
    const texts = this.log.texts.slice(this.#written);
    if (texts.length === 0) return;
    this.#written += texts.length;
    await this.#kept.putEvents(this.of.owner, this.of.id, this.#part++, texts);
  }

  #whole(): KeptResponse {
    return { ...this.of.made(), whole: { ...this.of.input, response: this.#response } };
  }
}

/** Whether a response changes no more. */
export function isOver({ status }: JsonObject): boolean {
  return status !== 'queued' && status !== 'in_progress';
}
