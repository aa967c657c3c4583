// One streamed answer: events with a piece of text each, and no end but that of the stream.
import { create } from '@bufbuild/protobuf';
import { type Completion, CompletionSchema } from '../../../../gen/gateway/inference/v2/completions_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { StreamTranslator, TranslationContext } from '../../dialect.ts';
import { isObject, parsedObject, textOf } from '../../json-object.ts';
import { clip } from '../../provider-error.ts';
import { completionHead } from './head.ts';

const NONE: readonly never[] = Object.freeze([]);

/** Translates the events of one answer. */
export class TritonStream implements StreamTranslator<Completion> {
  readonly #provider: string;
  readonly #head: ReturnType<typeof completionHead>;
  #model: string | undefined;
  #seen = false;
  #done = false;

  constructor(context: TranslationContext, model: string) {
    this.#provider = context.target.provider.id;
    this.#head = completionHead(context, model);
  }

  get done(): boolean {
    return this.#done;
  }

  push({ data }: SseEvent): readonly Completion[] {
    if (this.#done || data.trim() === '') return NONE;
    const provider = this.#provider;
    if (data.trim() === '[DONE]') return this.end();
    const json = parsedObject(data);
    if (json === undefined)
      throw fail('upstream_garbage', "an event of the provider's stream is not a JSON object", { provider });
    const error = isObject(json.error) ? json.error.message : json.error;
    if (error !== undefined && error !== null)
      throw fail('upstream_status', clip(String(error)), { provider, status: 502 });
    this.#model = textOf(json.model_name) ?? this.#model;
    this.#seen = true;
    return typeof json.text_output === 'string' && json.text_output !== ''
      ? [this.#piece(json.text_output)]
      : NONE;
  }

  end(): readonly Completion[] {
    if (this.#done) return NONE;
    if (!this.#seen)
      throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
        provider: this.#provider,
      });
    this.#done = true;
    return [this.#piece('', 'stop')];
  }

  usage(): undefined {
    return undefined;
  }

  model(): string | undefined {
    return this.#model;
  }

  #piece(text: string, finishReason?: string): Completion {
    const choice = { index: 0, text, ...(finishReason === undefined ? {} : { finishReason }) };
    return create(CompletionSchema, { ...this.#head, choices: [choice] });
  }
}
