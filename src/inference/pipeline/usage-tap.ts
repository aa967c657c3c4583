// Listens to a pass-through answer for the provider's report of usage, without
// touching a byte of it and without ever failing the call.
import { create } from '@bufbuild/protobuf';
import { type Usage, UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { InboundHead } from '../../lib/egress/outbound.ts';
import { Pieces } from '../../lib/incoming/pieces.ts';
import type { Dialect, ProviderEntry } from '../../providers/dialect.ts';
import { type FrameParser, frameParser, framingOf } from '../../providers/framing.ts';
import { isEncoded } from './whole.ts';

const BYTES_PER_TOKEN = 4;
/** Whole answers longer than this are not read for usage. */
const MAX_WHOLE_BYTES = 1024 * 1024;

/** What was heard. */
export interface Heard {
  readonly usage: Usage | undefined;
  /** A stream did not report it, or the report cannot be true: its events or bytes and the request's were counted. */
  readonly usageEstimated: boolean;
  /** There was a report that cannot be true. */
  readonly usageRefused: boolean;
  readonly model: string | undefined;
  /** The tier of service that the provider says it served. */
  readonly tier: string | undefined;
}

/** Reads along with one answer. */
export class UsageTap {
  /** Whether the answer is a stream of events. */
  readonly streams: boolean;
  readonly #tap: ReturnType<Dialect['tapUsage']>;
  #mode: 'events' | 'whole' | 'deaf';
  readonly #parser: FrameParser;
  readonly #whole = new Pieces();
  /** Of the whole answer, up to the bound. */
  #wholeBytes = 0;
  #pieces = 0;
  readonly #asked: () => number;
  #model: string | undefined;
  #tier: string | undefined;

  /** @param asked bytes of the request's body, as far as they are known */
  constructor(dialect: Dialect, provider: ProviderEntry, answer: InboundHead, asked: () => number) {
    this.#asked = asked;
    const type = answer.header('content-type') ?? '';
    this.#tap = dialect.tapUsage(provider);
    const framing = framingOf(type);
    this.streams = framing !== undefined;
    this.#parser = frameParser(framing ?? 'sse');
    const plain = !isEncoded(answer.header('content-encoding'));
    this.#mode = !plain
      ? 'deaf'
      : this.streams
        ? 'events'
        : /^application\/json\b/i.test(type)
          ? 'whole'
          : 'deaf';
  }

  push(chunk: Uint8Array): void {
    if (this.#mode === 'events') this.#events(() => this.#parser.push(chunk));
    if (this.#mode !== 'whole') return;
    this.#whole.push(chunk);
    this.#wholeBytes += chunk.length;
    if (this.#whole.bytes > MAX_WHOLE_BYTES) this.#deafen();
  }

  end(): Heard {
    if (this.#mode === 'events') this.#events(() => this.#parser.end());
    if (this.#mode === 'whole') this.#hear(this.#whole.take().toString('utf8'));
    this.#mode = 'deaf';
    const usage = this.#tap.usage();
    const usageRefused = usage === 'refused';
    const known = { usageRefused, model: this.#model, tier: this.#tier };
    if (!usageRefused && (usage !== undefined || this.#pieces === 0))
      return { ...known, usage, usageEstimated: false };
    return { ...known, usage: this.#estimate(), usageEstimated: true };
  }

  /** One token for each event, as providers send them; four bytes of JSON for each token of the request or answer. */
  #estimate(): Usage {
    const made = this.streams ? this.#pieces : Math.ceil(this.#wholeBytes / BYTES_PER_TOKEN);
    const [prompt, completion] = [Math.ceil(this.#asked() / BYTES_PER_TOKEN), made];
    return create(UsageSchema, {
      promptTokens: BigInt(prompt),
      completionTokens: BigInt(completion),
      totalTokens: BigInt(prompt + completion),
    });
  }

  #events(read: () => readonly { readonly data: string }[]): void {
    try {
      for (const { data } of read()) this.#hear(data);
    } catch {
      // An event over the parser's bound: nothing more is heard.
      this.#deafen();
    }
  }

  #hear(text: string): void {
    if (this.streams && text !== '[DONE]') this.#pieces++;
    if (!text.includes('"usage') && this.#model !== undefined) return;
    try {
      const json: unknown = JSON.parse(text);
      // Gemini streams a list of answers where no events are asked for.
      for (const one of Array.isArray(json) ? (json as unknown[]) : [json]) {
        this.#tap.push(one);
        this.#model ??= modelOf(one);
        this.#tier = tierOf(one) ?? this.#tier;
      }
    } catch {
      // Not JSON, so it reports nothing.
    }
  }

  #deafen(): void {
    this.#mode = 'deaf';
    this.#whole.take();
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

/** Next to the usage (OpenAI), in the response of an event (Responses), or within the usage (Anthropic). */
function tierOf(json: unknown): string | undefined {
  return (
    textMember(json, 'service_tier') ??
    textMember(memberOf(json, 'response'), 'service_tier') ??
    textMember(memberOf(json, 'usage'), 'service_tier')
  );
}

function memberOf(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null ? (json as Record<string, unknown>)[name] : undefined;
}

function textMember(json: unknown, name: string): string | undefined {
  const value = memberOf(json, name);
  return typeof value === 'string' ? value : undefined;
}
