// Responses that the gateway makes in the background, for providers that have no such thing. Each is one call that goes
// on after its answer: admitted, limited, logged and booked like any other. It is kept from its first moment on, with a
// lease: when the process is gone, another one makes it again if nothing was answered, and ends it as failed if not.
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '@bufbuild/protobuf';
import type { ResponseEvent } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail, type GatewayError, toGatewayError } from '../../lib/errors.ts';
import { settledWithin } from '../../lib/settled-within.ts';
import { arrayOf, isObject } from '../../providers/json-object.ts';
import { isOver, Run, type RunOf } from './background-run.ts';
import { placeOfItem } from './item-ids.ts';
import type { KeptRequest, KeptResponse, KeptResponses, KeptWhole } from './kept-responses.ts';
import type { FoundRun, Owner, RunLease, RunRecords } from './run-records.ts';

/** Of one process. */
const MOST_RUNS = 512;
/** Of those that a process has taken over. */
const MOST_TAKEN = 32;
/** Processes that may end without a word while they make a response. */
const MOST_LOST = 3;
/** A response that was asked for so long ago is not made again, in milliseconds. */
const MAX_AGE_MS = 3_600_000;
/** How long the mark counts that a response is to stop, in milliseconds. */
const STOP_MS = 60_000;
const CLOSE_MS = 5000;
/** How long a response of another process is waited for that is to stop: longer than a lease. */
const LOOK_MS = 250;
const MOST_LOOKS = 80;

/** A response that is made again. */
export interface AgainOrder extends KeptRequest {
  readonly owner: Owner;
  /** Aborted when it is to stop. */
  readonly signal: AbortSignal;
  /** Told of the call that makes it. */
  readonly link: (call: Call) => void;
}

/** What running takes. */
export interface BackgroundRunsDeps {
  readonly kept: KeptResponses;
  readonly records: RunRecords;
  /** No other process makes responses of the same store. */
  readonly alone: boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/** The runs of this process. */
export class BackgroundRuns {
  readonly #deps: BackgroundRunsDeps;
  readonly #runs = new Map<string, Run>();
  /** Being taken over. */
  readonly #taking = new Map<string, Promise<void>>();
  readonly #linked = new WeakMap<Call, Run>();
  #taken = 0;
  #again: ((order: AgainOrder) => Promise<void>) | undefined;
  #looking: Promise<void> | undefined;
  #closed = false;
  /** Being begun: they have a record and no run yet. */
  readonly #beginning = new Set<string>();
  /** No response is there that this process could take over, and no other process makes some. */
  #isClear = false;

  constructor(deps: BackgroundRunsDeps) {
    this.#deps = deps;
  }

  /** @throws GatewayError overloaded, store_unavailable, body_too_large */
  async begin(of: RunOf, request: KeptRequest): Promise<Run> {
    if (this.#closed || this.#runs.size >= MOST_RUNS)
      throw fail('overloaded', 'too many responses are made in the background', { retryAfterMs: 1000 });
    const key = keyOf(of);
    this.#beginning.add(key);
    try {
      const run = await this.#opened(of, request);
      this.#runs.set(key, run);
      run.start();
      return run;
    } finally {
      this.#beginning.delete(key);
    }
  }

  async #opened(of: RunOf, request: KeptRequest): Promise<Run> {
    const { kept, records } = this.#deps;
    const { owner, id } = of;
    if (!(await kept.putRequest(owner, id, request)))
      throw fail('body_too_large', 'the request is too long to be kept, as one in the background must be');
    const lease = await records.begin(owner, id);
    const run = new Run(this.#deps, lease, of);
    try {
      await run.open();
    } catch (thrown) {
      await Promise.all([kept.endRun(owner, id), lease.end()]).catch(this.#deps.onTrouble);
      throw thrown;
    }
    return run;
  }

  /** Runs it to its end. What goes wrong is told by its last event, and thrown. */
  async finish(run: Run, call: Call, events: () => Promise<AsyncIterable<ResponseEvent>>): Promise<void> {
    await this.#toEnd(run, () => run.make(call, events));
  }

  /** The run that a call makes again; undefined: it is no such call. */
  runOf(call: Call): Run | undefined {
    return this.#linked.get(call);
  }

  /** Undefined: this process does not make it. */
  get(owner: Owner, id: string): Run | undefined {
    return this.#runs.get(keyOf({ owner, id }));
  }

  /** From now on responses of processes that are gone are taken over. @param again makes one again, once there is room */
  open(again: (order: AgainOrder) => Promise<void>): void {
    this.#again = again;
    void this.look();
  }

  /** Looks for responses of processes that are gone. Resolves when all of them were looked at; it does not reject. */
  async look(): Promise<void> {
    if (this.#closed || this.#again === undefined || this.#isClear) return;
    this.#looking ??= this.#lookOnce()
      .catch(this.#deps.onTrouble)
      .finally(() => {
        this.#looking = undefined;
      });
    await this.#looking;
  }

  /** A kept response as it is: one that no process makes any more has failed, or is made again. @throws GatewayError store_unavailable */
  async settled(owner: Owner, id: string, found: KeptResponse): Promise<KeptResponse> {
    const run = this.get(owner, id);
    if (found.whole === undefined || isOver(found.whole.response)) return found;
    if (run !== undefined) return withResponse(found, found.whole, run.response);
    const { kept, records } = this.#deps;
    const record = await records.get(owner, id);
    if (record !== undefined && !(await this.#takeOver(record)))
      return record.record.isAnswered && found.whole.response.status === 'queued'
        ? withResponse(found, found.whole, { ...found.whole.response, status: 'in_progress' })
        : found;
    // It may have come to its end meanwhile.
    const now = (await kept.get(owner, id)) ?? found;
    const taken = this.get(owner, id);
    if (now.whole === undefined || isOver(now.whole.response)) return now;
    if (taken !== undefined) return withResponse(now, now.whole, taken.response);
    if (record !== undefined) return now;
    const { message, details } = GONE;
    const error = { code: details.code ?? '', message };
    const failed = withResponse(now, now.whole, { ...now.whole.response, status: 'failed', error });
    await kept.put(owner, id, failed);
    return failed;
  }

  /** Stops a response, whichever process makes it, and gives it as it is then. @throws GatewayError store_unavailable */
  async cancel(owner: Owner, id: string, found: KeptResponse): Promise<KeptResponse> {
    const { kept } = this.#deps;
    const run = this.get(owner, id);
    if (run === undefined) await kept.mark(owner, id, 'stop', STOP_MS);
    else run.cancel();
    await run?.over;
    for (let tries = 0; ; tries++) {
      const now = await this.settled(owner, id, (await kept.get(owner, id)) ?? found);
      if (now.whole === undefined || isOver(now.whole.response) || tries >= MOST_LOOKS) return now;
      await sleep(LOOK_MS);
    }
  }

  /** Takes no more, and waits for those that run. @param graceMs at the most */
  async drain(graceMs: number): Promise<void> {
    this.#closed = true;
    await settledWithin(
      [...this.#runs.values()].map(({ over }) => over),
      graceMs,
    );
  }

  /** Leaves all runs: those that were answered in part have failed, the others are for the next process. */
  async close(): Promise<void> {
    this.#closed = true;
    const runs = [...this.#runs.values()];
    for (const run of runs) run.leave();
    const ends = [this.#looking, ...this.#taking.values(), ...runs.map(({ over }) => over)];
    await settledWithin(
      ends.filter((one) => one !== undefined),
      CLOSE_MS,
    );
  }

  async #toEnd(run: Run, make: () => Promise<void>): Promise<void> {
    try {
      await make();
    } catch (thrown) {
      run.fail(toGatewayError(thrown));
      throw thrown;
    } finally {
      await this.#close(run);
    }
  }

  async #close(run: Run): Promise<void> {
    await run.finish();
    this.#runs.delete(keyOf(run.of));
    if (!run.isKept) this.#isClear = false;
  }

  async #lookOnce(): Promise<void> {
    let isClear = this.#deps.alone;
    for await (const found of this.#deps.records.all()) {
      if (this.#closed || this.#taken >= MOST_TAKEN) return;
      if (await this.#takeOver(found)) isClear = false;
    }
    this.#isClear = isClear;
  }

  /** False: its process may go on. @throws GatewayError store_unavailable */
  async #takeOver(found: FoundRun): Promise<boolean> {
    const key = keyOf(found);
    const { alone, now } = this.#deps;
    if (this.#runs.has(key) || this.#beginning.has(key)) return false;
    if (this.#closed || this.#again === undefined) return false;
    if (!alone && found.record.until > now()) return false;
    let taking = this.#taking.get(key);
    if (taking === undefined) {
      taking = this.#take(found, this.#again).finally(() => this.#taking.delete(key));
      this.#taking.set(key, taking);
    }
    await taking;
    return true;
  }

  async #take(found: FoundRun, again: (order: AgainOrder) => Promise<void>): Promise<void> {
    const { kept, records } = this.#deps;
    const { owner, id } = found;
    const lease = await records.take(found);
    if (lease === undefined) return;
    const { whole, ...made } = (await kept.get(owner, id)) ?? {};
    if (whole === undefined || isOver(whole.response)) {
      await kept.endRun(owner, id);
      await lease.end();
      return;
    }
    const parts: (readonly string[])[] = [];
    for (let texts = await kept.events(owner, id, 0); texts !== undefined; ) {
      parts.push(texts);
      texts = await kept.events(owner, id, parts.length);
    }
    const { response, ...input } = whole;
    const of: RunOf = { id, owner, response, input, made: { provider: '', model: '', ...made } };
    const run = new Run(this.#deps, lease, of, parts);
    const request = await kept.requestOf(owner, id);
    this.#runs.set(keyOf(found), run);
    if (await this.#isEnded(run, lease, request)) return this.#close(run);
    run.start();
    this.#taken++;
    const order: AgainOrder = {
      ...request!,
      request: { ...request!.request, input: withoutIds(whole.input, id) },
      owner,
      signal: run.signal,
      link: (call) => this.#linked.set(call, run),
    };
    void this.#toEnd(run, () => again(order))
      .catch(() => {})
      .finally(() => {
        this.#taken--;
      });
  }

  /** Whether a response that was taken over is not made again: then it has its end. */
  async #isEnded(run: Run, lease: RunLease, request: KeptRequest | undefined): Promise<boolean> {
    const { kept, now } = this.#deps;
    const { owner, id } = run.of;
    if (run.adopt()) return true;
    if (await kept.hasMark(owner, id, 'stop')) {
      run.cancel();
      run.fail(GONE);
      return true;
    }
    const fault = faultOf(lease, request, now());
    if (fault === undefined) return false;
    run.cut(fault);
    return true;
  }
}

/** Why it is not made again; undefined: it is. */
function faultOf(lease: RunLease, request: KeptRequest | undefined, now: number): GatewayError | undefined {
  const { isAnswered, lost, since } = lease.record;
  if (request === undefined) return GONE;
  if (isAnswered) return gone('when a part of it was answered already; ask again for all of it');
  if (lost >= MOST_LOST) return gone(`${MOST_LOST} times; it is not made once more`);
  if (now - since > MAX_AGE_MS) return gone('and none was there to make it for an hour; ask again');
  if (arrayOf(request.request.tools).some((tool) => isObject(tool) && tool.type === 'mcp'))
    return gone('while its tools of type mcp may have been at work; ask again when that does no harm');
  return undefined;
}

function gone(how: string): GatewayError {
  return fail('overloaded', `the gateway stopped while it made the response, ${how}`, {
    code: 'server_error',
  });
}

/** Why a response has failed that no process makes any more. */
const GONE = fail('overloaded', 'the gateway stopped before the response was made', { code: 'server_error' });

/** Ids that the gateway made for it are none of the caller's. */
function withoutIds(items: readonly JsonObject[], response: string): JsonObject[] {
  return items.map((item) => {
    const { id, ...rest } = item;
    return typeof id === 'string' && placeOfItem(id)?.response === response ? rest : item;
  });
}

function withResponse(found: KeptResponse, whole: KeptWhole, response: JsonObject): KeptResponse {
  return { ...found, whole: { ...whole, response } };
}

function keyOf({ owner: { organisationId, workspaceId = '' }, id }: { owner: Owner; id: string }): string {
  return `${organisationId}/${workspaceId}/${id}`;
}
