// The choices of one streamed answer: which have begun and finished, and the repairs of their chunks.
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { openAiWord } from '../../finish-words.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { mendMessage } from './oddities.ts';
import { StreamedCalls } from './streamed-calls.ts';

/** One choice so far. */
interface Choice {
  finished: boolean;
  /** Its tool calls; undefined before the first one. */
  calls: StreamedCalls | undefined;
}

/** Choices of one answer that are remembered; further ones pass as they are. */
const MOST = 128;

/** Watches the chunks of one answer. */
export class StreamedChoices {
  readonly #choices = new Map<number, Choice>();
  #made = '';
  readonly #strict: boolean;
  readonly #hasDeltas: boolean;

  /** @param hasDeltas whether its choices are pieces of messages; else they are texts */
  constructor(strict: boolean, hasDeltas: boolean) {
    this.#strict = strict;
    this.#hasDeltas = hasDeltas;
  }

  /** Whether a choice has begun. */
  get begun(): boolean {
    return this.#choices.size > 0;
  }

  /** Whether a choice has begun and every one that has is finished. */
  get complete(): boolean {
    return this.begun && this.unfinished().length === 0;
  }

  /** Choices that have begun and not finished, with the finish reason that fits their content. */
  unfinished(): { readonly index: number; readonly reason: string }[] {
    return [...this.#choices].flatMap(([index, { finished, calls }]) =>
      finished ? [] : [{ index, reason: calls?.begun ? 'tool_calls' : 'stop' }],
    );
  }

  /** Takes note of a chunk's choices and mends them in place; whether it changed them. */
  watch(chunk: JsonObject): boolean {
    if (!Array.isArray(chunk.choices)) {
      // Clients go through the list.
      chunk.choices = [];
      return true;
    }
    let changed = false;
    let place = 0;
    for (const json of chunk.choices)
      if (isObject(json) && this.#watch(json, place++, this.#idOf(chunk))) changed = true;
    if (place === chunk.choices.length) return changed;
    chunk.choices = chunk.choices.filter(isObject);
    return true;
  }

  /** The answer's id; of one without, one that no other answer has. */
  #idOf({ id }: JsonObject): string {
    const told = textOf(id);
    if (told === undefined && this.#made === '') this.#made = randomUUID();
    return told ?? this.#made;
  }

  #watch(json: JsonObject, place: number, answer: string): boolean {
    let changed = false;
    if (typeof json.index !== 'number') {
      json.index = place;
      changed = true;
    }
    const index = json.index as number;
    let choice = this.#choices.get(index);
    const isFirst = choice === undefined;
    if (choice === undefined) {
      if (this.#choices.size >= MOST) return changed;
      choice = { finished: false, calls: undefined };
      this.#choices.set(index, choice);
    }
    if (this.#hasDeltas && this.#mendDelta(json, isFirst, choice, answer)) changed = true;
    const { finish_reason: reason } = json;
    if (typeof reason !== 'string') return changed;
    // Already reported, or no reason given.
    if (reason === '' || reason === 'null' || choice.finished) {
      json.finish_reason = null;
      return true;
    }
    choice.finished = true;
    const word = this.#strict ? openAiWord(reason) : undefined;
    if (word === undefined) return changed;
    json.finish_reason = word;
    return true;
  }

  /** A piece is an object, and the first one of a choice names the role. */
  #mendDelta(json: JsonObject, isFirst: boolean, choice: Choice, answer: string): boolean {
    let changed = false;
    let delta = objectOf(json.delta);
    if (delta === undefined) {
      delta = {};
      json.delta = delta;
      changed = true;
    }
    if (isFirst && typeof delta.role !== 'string') {
      delta.role = 'assistant';
      changed = true;
    }
    if (mendMessage(delta, this.#strict)) changed = true;
    if (delta.tool_calls === undefined || delta.tool_calls === null) return changed;
    choice.calls ??= new StreamedCalls(answer);
    return choice.calls.watch(delta) || changed;
  }
}
