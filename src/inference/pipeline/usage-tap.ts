// Listens to a pass-through answer for the provider's report of usage, without
// touching a byte of it and without ever failing the call.
import { create } from '@bufbuild/protobuf';
import { type Usage, UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { InboundHead } from '../../lib/egress/outbound.ts';
import type { GatewayError } from '../../lib/errors.ts';
import { AsideDecoder } from '../../lib/incoming/decode-aside.ts';
import { codingsOf } from '../../lib/incoming/decoded-length.ts';
import type { SseEvent } from '../../lib/sse.ts';
import { TopMembers } from '../../lib/top-members.ts';
import type { Dialect, ProviderEntry } from '../../providers/dialect.ts';
import { failureIn, mayFail } from '../../providers/event-failure.ts';
import { type FrameParser, frameParser, framingOf } from '../../providers/framing.ts';
import { parsedObject } from '../../providers/json-object.ts';
import { mayReport, USAGE_MEMBERS } from '../../providers/usage/forms.ts';
import { roughTokens } from '../../providers/usage/rough-tokens.ts';

/** Longest member of a whole answer that is read, in bytes: reports of usage are far shorter, searches stand next to texts. */
const MAX_MEMBER_BYTES = 256 * 1024;
/** Decoded bytes of a compressed answer that are read. */
const MAX_DECODED_BYTES = 256 * 1024 * 1024;
/** How an event stream begins, whatever its answer is said to be. */
const BEGINS_EVENTS = /^\s*(?:data:|event:|id:|retry:|:)/;
const TELLING_BYTES = 16;

/** What the tap read. */
export interface TappedUsage {
  readonly usage: Usage | undefined;
  /** A stream did not report it, or the report cannot be true: its events or bytes and the request's were counted. */
  readonly usageEstimated: boolean;
  /** There was a report that cannot be true. */
  readonly usageRefused: boolean;
  readonly model: string | undefined;
  /** The tier of service that the provider says it served. */
  readonly tier: string | undefined;
}

/** Reads along with one answer, in bounded memory: the answer's form decides how, not its provider. */
export class UsageTap {
  /** Whether the answer is a stream of events. */
  readonly streams: boolean;
  readonly #tap: ReturnType<Dialect['tapUsage']>;
  #mode: 'unknown' | 'events' | 'whole' | 'deaf';
  readonly #decoder: AsideDecoder | undefined;
  readonly #parser: FrameParser;
  readonly #members: TopMembers;
  /** The members of the object that is read. */
  #json: Record<string, unknown> = {};
  #item = 0;
  #begin = '';
  /** Of the whole answer, as they passed. */
  #wholeBytes = 0;
  #pieces = 0;
  readonly #asked: () => number;
  readonly #provider: string;
  #model: string | undefined;
  #tier: string | undefined;
  #failure: GatewayError | undefined;

  /** @param asked bytes of the request's body, as far as they are known */
  constructor(dialect: Dialect, provider: ProviderEntry, answer: InboundHead, asked: () => number) {
    this.#asked = asked;
    this.#provider = provider.id;
    const type = answer.header('content-type') ?? '';
    this.#tap = dialect.tapUsage(provider);
    const framing = framingOf(type);
    this.streams = framing !== undefined;
    this.#parser = frameParser(framing ?? 'sse');
    this.#members = new TopMembers(
      (name) => USAGE_MEMBERS.has(name) || name === 'error',
      MAX_MEMBER_BYTES,
      ({ name, bytes, item }) => {
        if (item !== this.#item) this.#object();
        this.#item = item;
        const value = bytes && parsed(bytes.toString('utf8'));
        if (value !== undefined) this.#json[name] = value;
      },
    );
    const codings = codingsOf(answer.header('content-encoding'));
    this.#decoder = AsideDecoder.of(codings, MAX_DECODED_BYTES, (bytes) => this.#read(bytes));
    const isMedia = /^(?:image|audio|video|font)\/|^multipart\//i.test(type);
    if (isMedia || (codings.length > 0 && this.#decoder === undefined)) this.#mode = 'deaf';
    else this.#mode = this.streams ? 'events' : 'unknown';
  }

  /** Why a stream failed, where one of its events says so. */
  get failure(): GatewayError | undefined {
    return this.#failure;
  }

  /** Takes a piece as it passes. A promise: the next one should wait for it. */
  push(chunk: Uint8Array): Promise<void> | undefined {
    this.#wholeBytes += chunk.length;
    if (this.#mode === 'deaf') return undefined;
    if (this.#decoder !== undefined) return this.#decoder.push(chunk);
    this.#read(chunk);
    return undefined;
  }

  /** Before `end`: waits until a compressed answer is decoded. */
  ended(): Promise<void> | undefined {
    return this.#decoder?.end();
  }

  end(): TappedUsage {
    if (this.#mode === 'events') this.#events(() => this.#parser.end());
    if (this.#mode === 'whole') this.#object();
    this.#mode = 'deaf';
    this.#decoder?.stop();
    const usage = this.#tap.usage();
    const usageRefused = usage === 'refused';
    const known = { usageRefused, model: this.#model, tier: this.#tier };
    if (!usageRefused && (usage !== undefined || this.#pieces === 0))
      return { ...known, usage, usageEstimated: false };
    return { ...known, usage: this.#estimate(), usageEstimated: true };
  }

  /** One token for each event, as providers send them; four bytes of JSON for each token of the request or answer. */
  #estimate(): Usage {
    const made = this.#pieces > 0 ? this.#pieces : roughTokens(this.#wholeBytes);
    const [prompt, completion] = [roughTokens(this.#asked()), made];
    return create(UsageSchema, {
      promptTokens: BigInt(prompt),
      completionTokens: BigInt(completion),
      totalTokens: BigInt(prompt + completion),
    });
  }

  #read(bytes: Uint8Array): void {
    if (this.#mode === 'unknown') {
      this.#begin += Buffer.from(bytes.subarray(0, TELLING_BYTES)).toString('latin1');
      if (this.#begin.trimStart().length < TELLING_BYTES && !/^\s*[[{]/.test(this.#begin)) {
        // A few bytes more tell; what came goes to both readers.
        this.#events(() => this.#parser.push(bytes));
        this.#members.push(bytes);
        return;
      }
      this.#mode = BEGINS_EVENTS.test(this.#begin) ? 'events' : 'whole';
    }
    if (this.#mode === 'events') this.#events(() => this.#parser.push(bytes));
    else if (this.#mode === 'whole') {
      this.#members.push(bytes);
      if (!this.#members.isJson) this.#mode = 'deaf';
    }
  }

  #events(read: () => readonly SseEvent[]): void {
    try {
      for (const event of read()) this.#hear(event);
    } catch {
      // An event over the parser's bound: nothing more is read.
      this.#mode = 'deaf';
    }
  }

  #hear(event: SseEvent): void {
    const { data: text } = event;
    if (text !== '[DONE]') this.#pieces++;
    const tells = mayFail(event);
    if (this.#model !== undefined && !tells && !mayReport(text)) return;
    const json = parsed(text);
    if (tells) this.#failure = failureIn(event, json, this.#provider) ?? this.#failure;
    // Gemini streams a list of answers where no events are asked for.
    for (const one of Array.isArray(json) ? (json as unknown[]) : [json]) this.#note(one, true);
  }

  /** The members of one object of a whole answer are there. */
  #object(): void {
    const json = this.#json;
    this.#json = {};
    // Gemini's stream is a list of answers where no events are asked for.
    if (this.#item > 0 && json.error !== undefined)
      this.#failure = failureIn({ event: '', data: '' }, json, this.#provider);
    this.#note(json, false);
  }

  /** @param wraps whether the event may carry another one: Bedrock's InvokeModel has the model's own in `bytes` */
  #note(one: unknown, wraps: boolean): void {
    this.#tap.push(one);
    this.#model ??= modelOf(one);
    this.#tier = tierOf(one) ?? this.#tier;
    const within = wraps ? textMember(one, 'bytes') : undefined;
    if (within !== undefined) this.#note(parsedObject(Buffer.from(within, 'base64').toString('utf8')), false);
  }
}

/** Undefined: it is no JSON, so it reports nothing. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Of the answer itself, of the response that an event of Responses carries, or of Anthropic's message. */
function modelOf(json: unknown): string | undefined {
  return (
    textMember(json, 'model') ??
    textMember(memberOf(json, 'response'), 'model') ??
    textMember(memberOf(json, 'message'), 'model') ??
    textMember(json, 'modelVersion')
  );
}

/**
 * Next to the usage (OpenAI), in the response of an event (Responses), or within the usage (Anthropic, in a message's beginning, too).
 * Bedrock's has an object of its own.
 */
function tierOf(json: unknown): string | undefined {
  return (
    textMember(json, 'service_tier') ??
    textMember(memberOf(json, 'response'), 'service_tier') ??
    textMember(memberOf(json, 'usage'), 'service_tier') ??
    textMember(memberOf(memberOf(json, 'message'), 'usage'), 'service_tier') ??
    textMember(memberOf(json, 'serviceTier'), 'type')
  );
}

function memberOf(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>)[name] : undefined;
}

function textMember(json: unknown, name: string): string | undefined {
  const value = memberOf(json, name);
  return typeof value === 'string' ? value : undefined;
}
