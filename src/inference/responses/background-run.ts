// One response that the gateway makes in the background. Its events and its state are kept while it is made, so that any
// process can read them, and go on where nothing has been answered yet.
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
import { EventLog, numberOf } from './event-log.ts';
import { failedEvent } from './failed-event.ts';
import type { KeptResponse, KeptResponses, KeptWhole } from './kept-responses.ts';
import { makerOf } from './made-by.ts';
import type { Owner, RunLease } from './run-records.ts';

const TICK_MS = 1000;
const RENEW_MS = 5000;
/** How long a store is waited for that must have something, in milliseconds, and between two tries. */
const PATIENCE_MS = 30_000;
const AGAIN_MS = 500;

const LIFE = /^response\.(?:created|in_progress|queued|completed|incomplete|failed|cancelled)$/;
const END = /^response\.(?:completed|incomplete|failed|cancelled)$/;
const STOPPED = fail('overloaded', 'the gateway stopped before the response was made', {
  code: 'server_error',
});
const ELSEWHERE = fail('overloaded', 'another instance of the gateway makes this response');
const CANCELLED = fail('client_closed', 'the response was cancelled');

/** What a run is of. */
export interface RunOf {
  readonly id: string;
  readonly owner: Owner;
  /** Its response as it stands when the run begins. */
  readonly response: JsonObject;
  readonly input: Pick<KeptWhole, 'input' | 'before'>;
  /** Who made it, as far as it is known. */
  readonly made: Omit<KeptResponse, 'whole'>;
}

/** What runs write to. */
export interface RunDeps {
  readonly kept: KeptResponses;
  readonly onTrouble: (error: unknown) => void;
}

/** One response. */
export class Run {
  readonly of: RunOf;
  readonly log = new EventLog();
  readonly #deps: RunDeps;
  readonly #lease: RunLease;
  readonly #isAgain: boolean;
  readonly #aborter = new AbortController();
  #call: Call | undefined;
  #response: JsonObject;
  /** The id that it has where it is made. */
  #name: string | undefined;
  #parts: number;
  #written: number;
  #renewedAt = performance.now();
  #isCancelled = false;
  #isCut = false;
  /** It is left to another process, or another one has it. */
  #isGone = false;
  #isKept = false;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();
  #tell: () => void = () => {};
  /** Resolves when it is over and kept, or not this process's any more. */
  readonly over: Promise<void>;

  /** @param parts the events that are kept of it already */
  constructor(deps: RunDeps, lease: RunLease, of: RunOf, parts: readonly (readonly string[])[] = []) {
    this.#deps = deps;
    this.#lease = lease;
    this.of = of;
    this.#response = of.response;
    this.#isAgain = parts.length > 0;
    this.#parts = parts.length;
    for (const text of parts.flat()) this.log.push(text);
    this.#written = this.log.texts.length;
    if (this.#written === 0)
      this.#note({ type: 'response.created', sequence_number: 0, response: this.#response });
    this.over = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  /** As it is now. */
  get response(): JsonObject {
    return this.#response;
  }

  /** Aborted when it is to stop. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  /** This process does not make it any more, and it is not over. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Its end is kept. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Keeps what is known of it. @throws GatewayError store_unavailable, body_too_large */
  async open(): Promise<void> {
    const { id, owner } = this.of;
    if (await this.#deps.kept.mustPut(owner, id, this.#whole())) return;
    throw fail('body_too_large', 'input: is too long to be kept, as a response in the background must be');
  }

  /** Keeps the lease and tells others how far it is. `finish` ends that. */
  start(): void {
    this.#timer = setInterval(() => {
      this.#work = this.#work.then(() => this.#tick()).catch(() => {});
    }, TICK_MS);
  }

  /** Makes the response with a call. What goes wrong is thrown: the response is as it was. */
  async make(call: Call, events: () => Promise<AsyncIterable<ResponseEvent>>): Promise<void> {
    this.#call = call;
    this.#name = undefined;
    if (this.signal.aborted) throw this.signal.reason;
    for await (const event of await events()) await this.#take(event);
    if (!isOver(this.#response)) throw fail('upstream_interrupted', 'the answer has no end');
  }

  /** Ends it with an error, unless it is over. */
  fail(error: GatewayError): void {
    if (this.#isGone || isOver(this.#response)) return;
    const read = (text: string): ResponseEvent => eventMessage(codec, JSON.parse(text) as JsonObject);
    const begun = eventMessage(codec, { type: 'response.created', response: this.#response });
    const failed = jsonOf(
      codec,
      ResponseEventSchema,
      failedEvent(begun, read(this.log.texts.at(-1)!), error),
    );
    const response = { ...(failed.response as JsonObject), background: true };
    const isCancelled = this.#isCancelled;
    this.#response = isCancelled ? { ...response, status: 'cancelled', error: null } : response;
    const type = isCancelled ? 'response.cancelled' : 'response.failed';
    // Where the log is full its readers are told by the response.
    this.log.push(JSON.stringify({ ...failed, type, response: this.#response }));
  }

  /** Ends it with an error where another process has told events that may not be kept. */
  cut(error: GatewayError): void {
    this.#isCut = true;
    this.fail(error);
  }

  /** Takes the end that is kept of it. False: there is none. */
  adopt(): boolean {
    const last = JSON.parse(this.log.texts.at(-1)!) as JsonObject;
    const response = objectOf(last.response);
    if (!END.test(textOf(last.type) ?? '') || response === undefined) return false;
    this.#response = response;
    return true;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#stop(CANCELLED);
  }

  /** The process stops: another one makes it where nothing was answered, else it fails. */
  leave(): void {
    if (!this.#lease.record.isAnswered) this.#isGone = true;
    this.#stop(STOPPED);
  }

  /** Keeps it as it is. Nothing here rejects. */
  async finish(): Promise<void> {
    clearInterval(this.#timer);
    await this.#work;
    try {
      if (this.#isGone) await this.#lease.leave();
      else await patiently(() => this.#close());
    } catch (error) {
      // Its lease expires, and another look at it ends it.
      this.#deps.onTrouble(error);
    }
    this.log.end();
    this.#tell();
  }

  #stop(reason: GatewayError): void {
    this.#aborter.abort(reason);
    this.#call?.stop(reason);
  }

  /** One that was deleted meanwhile stays so. */
  async #close(): Promise<void> {
    const { kept } = this.#deps;
    const { id, owner } = this.of;
    if (!(await this.#lease.renew())) {
      this.#isGone = true;
      return;
    }
    if ((await kept.get(owner, id)) === undefined) await kept.remove(owner, id);
    else {
      await this.#flush();
      if (!(await kept.mustPut(owner, id, this.#whole()))) {
        this.#response = { ...this.of.response, status: 'failed', error: TOO_LONG };
        await kept.mustPut(owner, id, this.#whole());
      }
    }
    await kept.endRun(owner, id);
    await this.#lease.end();
    this.#isKept = true;
  }

  /** Its id and those of its items are its own: the response has a name before it is made. */
  async #take(event: ResponseEvent): Promise<void> {
    if (this.#isGone) throw this.signal.reason;
    const raw = rawJsonOf(event);
    const text = typeof raw === 'string' ? raw : JSON.stringify(jsonOf(codec, ResponseEventSchema, event));
    const { type } = event;
    const response = LIFE.test(type) ? objectOf((JSON.parse(text) as JsonObject).response) : undefined;
    if (response === undefined) {
      // Events reach readers at once: after the first one the response cannot be made again.
      if (!this.#lease.record.isAnswered) await patiently(() => this.#answered());
      this.#push(this.#numbered(this.#renamed(text)));
      return;
    }
    this.#name ??= textOf(response.id);
    if (type === 'response.created') return;
    const own = JSON.parse(this.#renamed(text)) as JsonObject;
    const { created_at, previous_response_id } = this.of.response;
    const told: JsonObject = {
      ...objectOf(own.response),
      id: this.of.id,
      background: true,
      created_at: created_at ?? null,
      previous_response_id: previous_response_id ?? null,
    };
    this.#response = told;
    // The one of a turn before has told it.
    if (this.#isAgain && !END.test(type) && this.log.texts.length > 1) return;
    this.#push(this.#numbered(JSON.stringify({ ...own, response: told })));
  }

  async #answered(): Promise<void> {
    if (await this.#lease.renew({ isAnswered: true })) return;
    this.#lose();
    throw ELSEWHERE;
  }

  #renamed(text: string): string {
    const [, key] = /^resp_([0-9a-f]{32})$/.exec(this.#name ?? '') ?? [];
    return key === undefined ? text : text.replaceAll(key, this.of.id.slice('resp_'.length));
  }

  /** Events of a later turn go on from those of the turn before. */
  #numbered(text: string): string {
    if (!this.#isAgain) return text;
    const next = (numberOf(this.log.texts.at(-1)!) ?? -1) + 1;
    if (numberOf(text) === next) return text;
    return JSON.stringify({ ...(JSON.parse(text) as JsonObject), sequence_number: next });
  }

  #note(event: JsonObject): void {
    this.#push(JSON.stringify(event));
  }

  /** @throws GatewayError upstream_garbage */
  #push(text: string): void {
    if (!this.log.push(text))
      throw fail('upstream_garbage', 'the response is too long to be kept, as one in the background must be');
  }

  /** Other processes read what is kept. */
  async #tick(): Promise<void> {
    const { id, owner } = this.of;
    if (this.#isGone) return;
    if (performance.now() - this.#renewedAt >= RENEW_MS) {
      if (!(await this.#lease.renew())) return this.#lose();
      this.#renewedAt = performance.now();
    }
    await this.#flush();
    if (await this.#deps.kept.hasMark(owner, id, 'stop')) this.cancel();
  }

  #lose(): void {
    this.#isGone = true;
    this.#stop(ELSEWHERE);
  }

  async #flush(): Promise<void> {
    const texts = this.log.texts.slice(this.#written);
    if (texts.length === 0) return;
    await this.#deps.kept.mustPutEvents(this.of.owner, this.of.id, this.#parts, texts);
    this.#parts++;
    this.#written += texts.length;
  }

  #whole(): KeptResponse {
    const made =
      this.#call === undefined || this.#call.record.provider === '' ? this.of.made : makerOf(this.#call);
    const whole = { ...this.of.input, response: this.#response, ...(this.#isCut ? { isCut: true } : {}) };
    return { ...made, whole };
  }
}

const TOO_LONG = { code: 'server_error', message: 'the response is too long to be kept' };

/** Whether a response changes no more. */
export function isOver({ status }: JsonObject): boolean {
  return status !== 'queued' && status !== 'in_progress';
}

/** Does what a store refuses again for a time. @throws GatewayError store_unavailable at its end */
async function patiently(step: () => Promise<void>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (toGatewayError(error).reason !== 'store_unavailable' || performance.now() > end) throw error;
      await sleep(AGAIN_MS);
    }
  }
}
