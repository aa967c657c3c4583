// The tool calls of one streamed choice: which piece belongs to which call, and the repairs of the pieces.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';
import { ObjectEnd } from '../../object-end.ts';
import { mendArguments, mendBeginning, mendList, mendRepetition } from './tool-call-oddities.ts';

/** One call so far. */
interface Call {
  /** Which of the choice's calls. */
  readonly place: number;
  /** As the provider names it; undefined for a call without an id. */
  readonly id: string | undefined;
  name: string;
  /** Of the arguments of a call without an id. */
  readonly end: ObjectEnd;
}

/** Watches the pieces of one choice's calls. */
export class StreamedCalls {
  readonly #answer: string;
  /** The last call under each of the provider's indexes (or ids, where it gives no index). */
  readonly #calls = new Map<JsonValue, Call>();
  #last: JsonValue | undefined;
  #count = 0;

  /** @param answer the answer's id, of which ids of calls are made */
  constructor(answer: string) {
    this.#answer = answer;
  }

  /** Whether a call has begun. */
  get begun(): boolean {
    return this.#count > 0;
  }

  /** Counts a piece's calls from 0 in the order in which they begin, and mends them in place; whether it changed any. */
  watch(delta: JsonObject): boolean {
    let changed = mendList(delta);
    for (const piece of arrayOf(delta.tool_calls)) if (isObject(piece) && this.#piece(piece)) changed = true;
    return changed;
  }

  #piece(piece: JsonObject): boolean {
    const id = typeof piece.id === 'string' && piece.id !== '' ? piece.id : undefined;
    // Without an index a call begins with its id, and what follows belongs to the last one.
    const key = typeof piece.index === 'number' ? piece.index : (id ?? this.#last ?? 0);
    this.#last = key;
    const held = this.#calls.get(key);
    const call = held !== undefined && !begins(piece, id, held) ? held : this.#begin(key, id);
    let changed =
      call === held ? mendRepetition(piece, call.name) : mendBeginning(piece, this.#answer, call.place);
    if (mendArguments(piece, call === held ? undefined : '')) changed = true;
    const called = objectOf(piece.function);
    if (typeof called?.name === 'string') call.name += called.name;
    if (call.id === undefined && typeof called?.arguments === 'string') call.end.add(called.arguments);
    if (piece.index === call.place) return changed;
    piece.index = call.place;
    changed = true;
    return changed;
  }

  #begin(key: JsonValue, id: string | undefined): Call {
    const call = { place: this.#count++, id, name: '', end: new ObjectEnd() };
    this.#calls.set(key, call);
    return call;
  }
}

/**
 * Whether a piece under the index of another call begins a call of its own: Google's OpenAI-compatible API and some
 * versions of Ollama give all parallel calls the index 0. Pieces of one call may have ids of their own (older vLLM),
 * and may repeat its name; a new call has a name, and another id or complete arguments before it.
 */
function begins(piece: JsonObject, id: string | undefined, held: Call): boolean {
  const { name } = objectOf(piece.function) ?? {};
  if (typeof name !== 'string' || name === '' || held.name === '') return false;
  return id === undefined ? held.id === undefined && held.end.reached : id !== held.id;
}
