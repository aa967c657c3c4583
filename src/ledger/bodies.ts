// Bodies of calls, written behind them: taken by reference on the hot path, made into text and stored in batches.
import { setImmediate } from 'node:timers/promises';
import type { BodiesRecord, BodyRecord, LogStore } from '../store/log-store.ts';
import type { RequestRecord } from '../store/request-log.ts';
import { loggedBody, loggedHeaders, loggedUrl } from './logged-message.ts';

/** A message as it went over the wire, not read yet. */
export interface UnreadMessage {
  readonly method?: string;
  readonly url?: string;
  readonly status?: number;
  /** Flat pairs. */
  readonly headers?: readonly string[] | (() => readonly string[]);
  readonly body?: string | Uint8Array | undefined;
}

/** What was said in a call. */
export interface UnreadBodies {
  readonly request: (() => string | Uint8Array | undefined) | undefined;
  readonly response: (() => string | Uint8Array | undefined) | undefined;
  readonly sent: UnreadMessage | undefined;
  readonly received: UnreadMessage | undefined;
  readonly hooks: object | undefined;
  /** Texts that must not be kept, wherever somebody repeats them. */
  readonly secrets?: () => readonly string[];
}

/** Where they go. */
export interface BodyLogFacts {
  readonly store: Pick<LogStore, 'appendBodies'>;
  readonly flushEveryMs?: number;
  /** Bytes that wait at the most; what comes beyond is left out. */
  readonly maxBuffered?: number;
  readonly onTrouble: (error: unknown, count: number) => void;
}

interface Waiting {
  readonly entry: RequestRecord;
  readonly said: UnreadBodies;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly size: number;
}

/** Calls of one batch, and texts of one batch in UTF-16 units. */
const BATCH = 256;
const BATCH_SIZE = 4 * 1024 * 1024;
/** Texts made between two turns of the event loop, in UTF-16 units. */
const SLICE = 512 * 1024;
/** A call's bodies beside their text. */
const FIXED = 1024;
const CLOSE_MS = 5000;

/** Takes bodies and stores them. Never waited for by a call. */
export class BodyLog {
  readonly #facts: Required<BodyLogFacts>;
  readonly #timer: NodeJS.Timeout;
  #waiting: Waiting[] = [];
  #buffered = 0;
  #dropped = 0;
  #pumping: Promise<void> | undefined;

  constructor(facts: BodyLogFacts) {
    this.#facts = { flushEveryMs: 50, maxBuffered: 64 * 1024 * 1024, ...facts };
    this.#timer = setInterval(() => void this.flush(), this.#facts.flushEveryMs).unref();
  }

  /** Calls whose bodies were left out, since the start. */
  readonly dropped = (): number => this.#dropped;

  /** Takes a call's bodies. False: there are too many waiting, and these are left out. */
  take(entry: RequestRecord, said: UnreadBodies, headers: Waiting['headers']): boolean {
    const size = FIXED + lengthOf(said.sent?.body) + lengthOf(said.received?.body);
    if (this.#buffered + size > this.#facts.maxBuffered) {
      this.#dropped++;
      return false;
    }
    this.#buffered += size;
    this.#waiting.push({ entry, said, headers, size });
    return true;
  }

  /** Resolves when all bodies taken so far are stored or given up. Never rejects. */
  async flush(): Promise<void> {
    if (this.#waiting.length === 0) return this.#pumping;
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = undefined;
    });
    await this.#pumping;
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
    while (this.#waiting.length > 0) {
      const batch: BodiesRecord[] = [];
      let taken = 0;
      let size = 0;
      let slice = 0;
      for (const waiting of this.#waiting) {
        if (taken === BATCH || size > BATCH_SIZE) break;
        const record = recordOf(waiting);
        const length = textLength(record);
        batch.push(record);
        taken++;
        size += length;
        slice += length;
        if (slice > SLICE) {
          slice = 0;
          await setImmediate();
        }
      }
      const done = this.#waiting.splice(0, taken);
      try {
        await this.#facts.store.appendBodies(batch);
      } catch (error) {
        this.#dropped += taken;
        this.#facts.onTrouble(error, taken);
      }
      for (const { size: freed } of done) this.#buffered -= freed;
    }
  }
}

/** Shorter ones are words. */
const SHORTEST_SECRET = 8;

/** The record with secrets masked in every text of it: providers repeat what they were sent. */
function recordOf(waiting: Waiting): BodiesRecord {
  const record = plainRecord(waiting);
  const secrets = (waiting.said.secrets?.() ?? []).filter(({ length }) => length >= SHORTEST_SECRET);
  if (secrets.length === 0) return record;
  const clean = <T extends BodyRecord | undefined>(message: T): T => {
    if (message?.body === undefined) return message;
    const body = masked(message.body, secrets);
    return body === message.body ? message : { ...message, body };
  };
  const { request, response, transformedRequest, originalResponse, hooks, ...rest } = record;
  return {
    ...rest,
    request: clean(request),
    response: clean(response),
    ...(transformedRequest === undefined ? {} : { transformedRequest: clean(transformedRequest) }),
    ...(originalResponse === undefined ? {} : { originalResponse: clean(originalResponse) }),
    ...(hooks === undefined ? {} : { hooks: masked(hooks, secrets) }),
  };
}

function masked(text: string, secrets: readonly string[]): string {
  return secrets.reduce(
    (left, secret) => (left.includes(secret) ? left.replaceAll(secret, '***') : left),
    text,
  );
}

function plainRecord({ entry, said, headers }: Waiting): BodiesRecord {
  const { id, organisationId, workspaceId, createdAt, keepDays, method, path, statusCode, error } = entry;
  const request = loggedBody(said.request?.());
  const answered = said.response?.() ?? (error && errorText(error));
  const response = loggedBody(error && said.response === undefined ? errorText(error) : answered);
  const sent = said.sent && messageOf(said.sent);
  const received = said.received && messageOf(said.received);
  return {
    id,
    organisationId,
    workspaceId,
    createdAt,
    ...(keepDays === undefined ? {} : { keepDays }),
    request: { method, url: path, headers: loggedHeaders(pairsOf(headers)), ...request },
    response: { status: statusCode, ...response },
    ...(sent === undefined ? {} : { transformedRequest: withoutSame(sent, request) }),
    ...(received === undefined ? {} : { originalResponse: withoutSame(received, response) }),
    ...(said.hooks === undefined ? {} : { hooks: JSON.stringify(said.hooks) }),
  };
}

function messageOf({ method, url, status, headers, body }: UnreadMessage): BodyRecord {
  const pairs = typeof headers === 'function' ? headers() : headers;
  return {
    ...(method === undefined ? {} : { method }),
    ...(url === undefined ? {} : { url: loggedUrl(url) }),
    ...(status === undefined ? {} : { status }),
    ...(pairs === undefined ? {} : { headers: loggedHeaders(pairs) }),
    ...loggedBody(body),
  };
}

/** What went on as it came is written once. */
function withoutSame(message: BodyRecord, first: Pick<BodyRecord, 'body'>): BodyRecord {
  if (message.body === undefined || message.body !== first.body) return message;
  const { body: _, ...rest } = message;
  return rest;
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

function textLength({ request, response, transformedRequest, originalResponse }: BodiesRecord): number {
  return [request, response, transformedRequest, originalResponse].reduce(
    (sum, message) => sum + (message?.body?.length ?? 0),
    FIXED,
  );
}
