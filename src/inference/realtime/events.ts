// What the gateway reads of a session's events; all others pass unread.
import type { JsonObject } from '@bufbuild/protobuf';
import { fail } from '../../lib/errors.ts';
import { arrayOf, isObject, objectOf, parsedObject, textOf } from '../../providers/json-object.ts';
import { mediaUsage } from '../../providers/usage/media.ts';
import type { UsageReport } from '../../providers/usage/report.ts';
import { readUsage } from '../../providers/usage/tap.ts';
import { codec } from '../../rest/codec.ts';

/** What an event says. */
export type Told =
  | { readonly kind: 'began'; readonly id: string }
  | {
      readonly kind: 'ended';
      readonly id: string;
      readonly usage: UsageReport;
      readonly failed: boolean;
      readonly text: string;
    }
  /** Something that is paid for by itself, of another model where one is named. */
  | {
      readonly kind: 'paid';
      readonly usage: UsageReport;
      readonly model: string | undefined;
      readonly text: string;
    }
  | { readonly kind: 'said'; readonly text: string };

/** Events of one kind of wire. */
export interface EventReader {
  fromProvider(text: string): Told | undefined;
  /** What the caller asks for. */
  fromCaller(event: JsonObject): { readonly asks: boolean; readonly text: string } | undefined;
}

/** OpenAI's events, and those of services that speak them. */
export class OpenAiEvents implements EventReader {
  /** The model that transcribes what is heard. */
  #transcriber: string | undefined;

  fromProvider(text: string): Told | undefined {
    if (
      !/response\.(?:created|done)|transcription\.completed|session\.(?:created|updated)/.test(
        text.slice(0, 4096),
      )
    )
      return undefined;
    const event = parsedObject(text);
    const type = textOf(event?.type);
    if (event === undefined || type === undefined) return undefined;
    const response = objectOf(event.response);
    if (type === 'response.created') return { kind: 'began', id: textOf(response?.id) ?? '' };
    if (type === 'response.done') {
      const counts = objectOf(response?.usage);
      return {
        kind: 'ended',
        id: textOf(response?.id) ?? '',
        usage: counts && readUsage(codec, counts),
        failed: response?.status === 'failed',
        text: saidIn(response),
      };
    }
    if (type.endsWith('input_audio_transcription.completed')) return this.#heard(event);
    if (type === 'session.created' || type === 'session.updated') this.#note(objectOf(event.session));
    return undefined;
  }

  fromCaller(event: JsonObject): { readonly asks: boolean; readonly text: string } | undefined {
    if (event.type === 'response.create')
      return {
        asks: true,
        text: [textOf(objectOf(event.response)?.instructions), ...inputs(objectOf(event.response)?.input)]
          .filter(Boolean)
          .join('\n'),
      };
    if (event.type === 'conversation.item.create')
      return { asks: false, text: inputs([event.item ?? null]).join('\n') };
    if (event.type === 'session.update')
      return { asks: false, text: textOf(objectOf(event.session)?.instructions) ?? '' };
    return undefined;
  }

  #heard(event: JsonObject): Told {
    const counts = objectOf(event.usage);
    const text = textOf(event.transcript) ?? '';
    if (counts === undefined) return { kind: 'said', text };
    const seconds =
      counts.type === 'duration' && typeof counts.seconds === 'number' ? counts.seconds : undefined;
    const usage =
      seconds === undefined ? readUsage(codec, counts) : mediaUsage({ audioMs: Math.round(seconds * 1000) });
    return { kind: 'paid', usage, model: this.#transcriber, text };
  }

  #note(session: JsonObject | undefined): void {
    const input = objectOf(objectOf(session?.audio)?.input);
    const settings = objectOf(input?.transcription) ?? objectOf(session?.input_audio_transcription);
    this.#transcriber = textOf(settings?.model) ?? this.#transcriber;
  }
}

/** Texts and transcripts of a response. */
function saidIn(response: JsonObject | undefined): string {
  return inputs(response?.output).join('\n');
}

function inputs(items: JsonObject[string] | undefined): string[] {
  return arrayOf(items)
    .flatMap((item) => (isObject(item) ? [...arrayOf(item.content), item] : []))
    .flatMap((part) =>
      isObject(part)
        ? [textOf(part.text) ?? textOf(part.transcript) ?? textOf(part.output) ?? textOf(part.arguments)]
        : [],
    )
    .filter((text) => text !== undefined);
}

/** Characters of one turn. */
const MOST_SAID = 4 * 1024 * 1024;

/** Events of Gemini's Live API. */
export class GeminiEvents implements EventReader {
  #model: string | undefined;
  #said = '';

  fromProvider(text: string): Told | undefined {
    if (!/usageMetadata|[tT]ranscription|turnComplete/.test(text)) return undefined;
    const event = parsedObject(text);
    const content = objectOf(event?.serverContent);
    if (this.#said.length > MOST_SAID)
      throw fail('upstream_garbage', 'the provider said too much without an end of its turn');
    this.#said += textOf(objectOf(content?.outputTranscription)?.text) ?? '';
    for (const part of arrayOf(objectOf(content?.modelTurn)?.parts))
      if (isObject(part)) this.#said += textOf(part.text) ?? '';
    const counts = objectOf(event?.usageMetadata);
    if (counts === undefined) {
      const heard = textOf(objectOf(content?.inputTranscription)?.text);
      return heard === undefined ? undefined : { kind: 'said', text: heard };
    }
    const said = this.#said;
    this.#said = '';
    return { kind: 'paid', usage: readUsage(codec, geminiCounts(counts)), model: this.#model, text: said };
  }

  fromCaller(event: JsonObject): { readonly asks: boolean; readonly text: string } | undefined {
    const setup = objectOf(event.setup);
    this.#model = textOf(setup?.model)?.replace(/^models\//, '') ?? this.#model;
    // Google reads members of Protobuf's JSON in both spellings.
    const system = [setup?.systemInstruction, setup?.system_instruction];
    const turns = [event.clientContent, event.client_content].flatMap((one) => arrayOf(objectOf(one)?.turns));
    const parts = [...system, ...turns].flatMap((turn) => arrayOf(objectOf(turn)?.parts));
    const texts = parts.map((part) => textOf(objectOf(part)?.text));
    const typed = [event.realtimeInput, event.realtime_input].map((one) => textOf(objectOf(one)?.text));
    return { asks: false, text: [...texts, ...typed].filter((one) => one !== undefined).join('\n') };
  }
}

function geminiCounts(counts: JsonObject): JsonObject {
  const audio = (details: JsonObject[string] | undefined): number =>
    arrayOf(details).reduce<number>(
      (sum, one) =>
        isObject(one) && one.modality === 'AUDIO' && typeof one.tokenCount === 'number'
          ? sum + one.tokenCount
          : sum,
      0,
    );
  const { promptTokenCount: input = 0, responseTokenCount: made, candidatesTokenCount } = counts;
  const thought = typeof counts.thoughtsTokenCount === 'number' ? counts.thoughtsTokenCount : 0;
  const output = made ?? candidatesTokenCount ?? 0;
  return {
    input_tokens: input,
    output_tokens: typeof output === 'number' ? output + thought : output,
    input_token_details: { audio_tokens: audio(counts.promptTokensDetails) },
    output_token_details: {
      audio_tokens: audio(counts.responseTokensDetails ?? counts.candidatesTokensDetails),
      reasoning_tokens: thought,
    },
  };
}
