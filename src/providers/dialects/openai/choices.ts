// The choices of one streamed answer: which have begun and finished, and the repairs of their chunks.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { openAiWord } from './finish-words.ts';
import { mendMessage } from './oddities.ts';
import { mendArguments, mendBeginning } from './tool-call-oddities.ts';

/** One choice so far. */
interface Choice {
  finished: boolean;
  /** Its tool calls' positions by the provider's index; undefined before the first call. */
  calls: Map<JsonValue | undefined, number> | undefined;
}

/** Choices of one answer that are remembered; further ones pass as they are. */
const MOST = 128;

/** Watches the chunks of one answer. */
export class StreamedChoices {
  readonly #choices = new Map<number, Choice>();
  readonly #strict: boolean;
  readonly #hasDeltas: boolean;

  /** @param hasDeltas whether its choices are pieces of messages; else they are texts */
  constructor(strict: boolean, hasDeltas: boolean) {
    this.#strict = strict;
    this.#hasDeltas = hasDeltas;
  }

  /** Whether a choice has begun and every one that has is finished. */
  get complete(): boolean {
    return this.#choices.size > 0 && this.unfinished().length === 0;
  }

  /** Choices that have begun and not finished, with the finish reason that fits their content. */
  unfinished(): { readonly index: number; readonly reason: string }[] {
    return [...this.#choices].flatMap(([index, { finished, calls }]) =>
      finished ? [] : [{ index, reason: calls === undefined ? 'stop' : 'tool_calls' }],
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
      if (isObject(json) && this.#watch(json, place++, textOf(chunk.id) ?? 'answer')) changed = true;
    if (place === chunk.choices.length) return changed;
    chunk.choices = chunk.choices.filter(isObject);
    return true;
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
    if (reason === '' || choice.finished) {
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
    return this.#placeCalls(choice, delta, answer) || changed;
  }

  /** Calls are counted from 0 in the order in which they come. */
  #placeCalls(choice: Choice, delta: JsonObject, answer: string): boolean {
    let changed = false;
    for (const call of arrayOf(delta.tool_calls)) {
      if (!isObject(call)) continue;
      choice.calls ??= new Map();
      const { calls } = choice;
      // Without an index a call begins with its id, and what follows belongs to the last one.
      const begins = typeof call.index === 'number' || (typeof call.id === 'string' && call.id !== '');
      const name = typeof call.index === 'number' ? call.index : begins ? call.id : [...calls.keys()].at(-1);
      const known = calls.get(name);
      const place = known ?? calls.size;
      calls.set(name, place);
      if (known === undefined && mendBeginning(call, answer, place)) changed = true;
      if (mendArguments(call, known === undefined ? '' : undefined)) changed = true;
      if (call.index === place) continue;
      call.index = place;
      changed = true;
    }
    return changed;
  }
}
