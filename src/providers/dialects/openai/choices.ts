// The choices of one streamed answer: which have begun and finished, and the repairs of their chunks.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';
import { mendMessage } from './oddities.ts';

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

  constructor(strict: boolean) {
    this.#strict = strict;
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
    if (!Array.isArray(chunk.choices)) return false;
    let changed = false;
    for (const json of chunk.choices) if (isObject(json) && this.#watch(json)) changed = true;
    return changed;
  }

  #watch(json: JsonObject): boolean {
    const index = typeof json.index === 'number' ? json.index : 0;
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      if (this.#choices.size >= MOST) return false;
      choice = { finished: false, calls: undefined };
      this.#choices.set(index, choice);
    }
    const delta = objectOf(json.delta);
    let changed = delta !== undefined && mendMessage(delta, this.#strict);
    if (delta !== undefined && this.#placeCalls(choice, delta)) changed = true;
    const { finish_reason: reason } = json;
    if (typeof reason !== 'string') return changed;
    // Already reported, or no reason given.
    if (reason === '' || choice.finished) {
      json.finish_reason = null;
      return true;
    }
    choice.finished = true;
    return changed;
  }

  /** Calls are counted from 0 in the order in which they come. */
  #placeCalls(choice: Choice, delta: JsonObject): boolean {
    let changed = false;
    for (const call of arrayOf(delta.tool_calls)) {
      if (!isObject(call)) continue;
      choice.calls ??= new Map();
      const { calls } = choice;
      // Without an index a call begins with its id, and what follows belongs to the last one.
      const begins = typeof call.index === 'number' || (typeof call.id === 'string' && call.id !== '');
      const name = typeof call.index === 'number' ? call.index : begins ? call.id : [...calls.keys()].at(-1);
      const place = calls.get(name) ?? calls.size;
      calls.set(name, place);
      if (call.index === place) continue;
      call.index = place;
      changed = true;
    }
    return changed;
  }
}
