// Bodies of calls, stored after the answer: taken by reference on the hot path, made into text and stored in batches.

import type { CallBodies, WireMessage } from '../call/bodies.ts';
import type { RequestRecord } from '../call/record.ts';
import { jsonInSlices, UnwrittenJson } from '../lib/json-in-slices.ts';
import { nextTurn } from '../lib/time-slices.ts';
import { Turns } from '../lib/turns.ts';
import type { BodiesRecord, BodyRecord, LogStore } from '../store/log-store.ts';
import { loggedBody, loggedHeaders, loggedUrl } from './logged-message.ts';
import { maskedRecord } from './masked-record.ts';

/** Where they go. */
export interface BodyLogDeps {
  readonly store: Pick<LogStore, 'appendBodies'>;
  readonly flushEveryMs?: number;
  /** Bytes that wait at the most; what comes beyond is left out. */
  readonly maxBuffered?: number;
  readonly onTrouble: (error: unknown, count: number) => void;
}

interface Waiting {
  readonly entry: RequestRecord;
  readonly bodies: CallBodies;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly size: number;
}

type Body = string | Uint8Array | undefined;

interface Read {
  /** Undefined where nothing could be read. */
  readonly record: BodiesRecord | undefined;
  /** What is masked in it before it is stored; undefined: it is as it may be stored. */
  readonly secrets: readonly string[] | undefined;
  readonly size: number;
}

/** Calls of one batch, and texts of one batch in UTF-16 units. */
const BATCH = 256;
const BATCH_SIZE = 4 * 1024 * 1024;
/** Calls that are worth a batch before the timer says so. */
const FEW = 64;
/** Texts made between two turns of the event loop, in UTF-16 units. */
const SLICE = 512 * 1024;
/** Overhead of a call's bodies in addition to their text. */
const FIXED = 1024;
const CLOSE_MS = 5000;

/** Takes bodies and stores them. Never waited for by a call. */
export class BodyLog {
  readonly #deps: Required<BodyLogDeps>;
  readonly #timer: NodeJS.Timeout;
  /** Bodies not read yet: kept only for the rest of the event loop's turn, because they retain a lot of memory. */
  #waiting: Waiting[] = [];
  #reading = false;
  /** Read, and not stored yet. */
  #read: Read[] = [];
  #buffered = 0;
  #dropped = 0;
  #pumping: Promise<void> | undefined;
  readonly #turns = new Turns();
  /** Calls taken, and how many of them were stored or dropped, since the start. */
  #taken = 0;
  #done = 0;
  /** Who waits for the calls up to a number, rising. */
  readonly #flushes: { readonly upTo: number; readonly resolve: () => void }[] = [];

  constructor(deps: BodyLogDeps) {
    this.#deps = { flushEveryMs: 50, maxBuffered: 64 * 1024 * 1024, ...deps };
    this.#timer = setInterval(() => this.#go(), this.#deps.flushEveryMs).unref();
  }

  /** Calls whose bodies were left out, since the start. */
  readonly dropped = (): number => this.#dropped;

  /** Takes a call's bodies. False: there are too many waiting, and these are left out. */
  take(entry: RequestRecord, bodies: CallBodies, headers: Waiting['headers']): boolean {
    const { request, response } = bodies.passing;
    const passed = (request?.held ?? 0) + (response?.held ?? 0);
    const size = FIXED + lengthOf(bodies.sent?.body) + lengthOf(bodies.received?.body) + passed;
    if (this.#buffered + size > this.#deps.maxBuffered) {
      this.#dropped++;
      return false;
    }
    this.#buffered += size;
    this.#taken++;
    this.#waiting.push({ entry, bodies, headers, size });
    if (!this.#reading) {
      this.#reading = true;
      setImmediate(this.#readSome);
    }
    return true;
  }

  /** Takes a record to store. False: too many are waiting, and the record is dropped. */
  keep(record: BodiesRecord): boolean {
    const size = textLength(record);
    if (this.#buffered + size > this.#deps.maxBuffered) {
      this.#dropped++;
      return false;
    }
    this.#buffered += size;
    this.#taken++;
    this.#read.push({ record, secrets: undefined, size });
    return true;
  }

  /** Resolves when all bodies taken so far are stored or given up. Never rejects. */
  async flush(): Promise<void> {
    const upTo = this.#taken;
    if (this.#done === upTo) return;
    // Not the end of the pump: while calls go on it has none.
    const flushed = new Promise<void>((resolve) => this.#flushes.push({ upTo, resolve }));
    this.#go();
    await flushed;
  }

  /** Reads what waits, a slice in a turn. */
  readonly #readSome = async (): Promise<void> => {
    let size = 0;
    let count = 0;
    for (const waiting of this.#waiting) {
      if (size > SLICE) break;
      const made = this.#recordOf(waiting);
      const record = made instanceof Promise ? await made : made;
      this.#read.push({ record, secrets: waiting.bodies.secrets?.() ?? [], size: waiting.size });
      size += record === undefined ? 0 : textLength(record);
      count++;
    }
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count);
    this.#reading = this.#waiting.length > 0;
    if (this.#reading) setImmediate(this.#readSome);
    if (this.#read.length >= FEW || this.#flushes.length > 0) this.#go();
  };

  #go(): void {
    if (this.#read.length === 0) return;
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = undefined;
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS);
    });
    await Promise.race([this.flush(), late]);
    clearTimeout(timer);
  }

  async #pump(): Promise<void> {
    while (this.#read.length > 0) {
      const batch: BodiesRecord[] = [];
      let taken = 0;
      let size = 0;
      let freed = 0;
      for (const read of this.#read) {
        if (taken === BATCH || size > BATCH_SIZE) break;
        taken++;
        freed += read.size;
        const record = await this.#masked(read);
        if (record === undefined) continue;
        batch.push(record);
        size += textLength(record);
      }
      this.#read = taken === this.#read.length ? [] : this.#read.slice(taken);
      try {
        if (batch.length > 0) await this.#deps.store.appendBodies(batch);
      } catch (error) {
        this.#dropped += batch.length;
        this.#deps.onTrouble(error, batch.length);
      }
      this.#buffered -= freed;
      this.#done += taken;
      while ((this.#flushes[0]?.upTo ?? Number.POSITIVE_INFINITY) <= this.#done)
        this.#flushes.shift()?.resolve();
    }
  }

  /** Undefined for what cannot be written: it must not stand in the way of the rest. */
  #recordOf(waiting: Waiting): BodiesRecord | undefined | Promise<BodiesRecord | undefined> {
    try {
      const record = plainRecord(waiting);
      return record instanceof Promise ? record.catch((error) => this.#unwritten(error)) : record;
    } catch (error) {
      return this.#unwritten(error);
    }
  }

  #unwritten(error: unknown): undefined {
    this.#dropped++;
    this.#deps.onTrouble(error, 1);
  }

  /** As it is stored; long texts are looked through in turns of the event loop. */
  async #masked({ record, secrets }: Read): Promise<BodiesRecord | undefined> {
    if (record === undefined || secrets === undefined) return record;
    try {
      const pause = this.#turns.step(textLength(record));
      if (pause !== undefined) await pause;
      const steps = maskedRecord(record, secrets);
      let step = steps.next();
      for (; !step.done; step = steps.next()) await nextTurn();
      return step.value;
    } catch (error) {
      return this.#unwritten(error);
    }
  }
}

/** Long JSON is written in slices first. */
function plainRecord(waiting: Waiting): BodiesRecord | Promise<BodiesRecord> {
  const { bodies, entry } = waiting;
  const asked = bodies.request?.();
  const answered = bodies.response?.() ?? (entry.error && errorText(entry.error));
  return asked instanceof UnwrittenJson || answered instanceof UnwrittenJson
    ? Promise.all([inSlices(asked), inSlices(answered)]).then((both) => recordWith(waiting, ...both))
    : recordWith(waiting, asked, answered);
}

async function inSlices(body: Body | UnwrittenJson): Promise<Body> {
  return body instanceof UnwrittenJson ? jsonInSlices(body.value) : body;
}

function recordWith({ entry, bodies, headers }: Waiting, asked: Body, answered: Body): BodiesRecord {
  const { id, organisationId, workspaceId, createdAt, keepDays, method, path, statusCode } = entry;
  const request = loggedBody(asked, bodies.passing.request?.left);
  const response = loggedBody(answered, bodies.passing.response?.left);
  const sent = bodies.sent && messageOf(bodies.sent, request.body);
  const received = bodies.received && messageOf(bodies.received, response.body);
  return {
    id,
    organisationId,
    workspaceId,
    createdAt,
    ...(keepDays === undefined ? {} : { keepDays }),
    request: { method, url: path, headers: loggedHeaders(pairsOf(headers)), ...request },
    response: { status: statusCode, ...response },
    ...(sent === undefined ? {} : { transformedRequest: sent }),
    ...(received === undefined ? {} : { originalResponse: received }),
    ...(bodies.hooks === undefined ? {} : { hooks: JSON.stringify(bodies.hooks) }),
  };
}

/** What went on as it came is written once, and without its headers. @param first the body that the caller knows */
function messageOf(message: WireMessage, first: string | undefined): BodyRecord {
  const { method, url, status, headers } = message;
  const body = loggedBody(message.body);
  const head = {
    ...(method === undefined ? {} : { method }),
    ...(url === undefined ? {} : { url: loggedUrl(url) }),
    ...(status === undefined ? {} : { status }),
  };
  if (body.body !== undefined && body.body === first) return head;
  const pairs = typeof headers === 'function' ? headers() : headers;
  return { ...head, ...(pairs === undefined ? {} : { headers: loggedHeaders(pairs) }), ...body };
}

function errorText({ reason, message }: { readonly reason: string; readonly message: string }): string {
  return JSON.stringify({ status: 'failure', message, error: { message, code: reason } });
}

function pairsOf(headers: Waiting['headers']): string[] {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) pairs.push(name, typeof value === 'string' ? value : value.join(', '));
  return pairs;
}

function lengthOf(body: string | Uint8Array | undefined): number {
  return body === undefined ? 0 : body.length;
}

function textLength(record: BodiesRecord): number {
  const { request, response, transformedRequest, originalResponse, hooks } = record;
  return [request, response, transformedRequest, originalResponse].reduce(
    (sum, message) => sum + (message?.body?.length ?? 0),
    FIXED + (hooks?.length ?? 0),
  );
}
