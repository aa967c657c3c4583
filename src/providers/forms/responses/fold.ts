// The events of a response put together, as the response would have come whole.
import type { JsonObject } from '@bufbuild/protobuf';
import { isObject, objectOf } from '../../json-object.ts';
import { stringOf } from './content.ts';

/** Items of one response at the most. */
const MOST_ITEMS = 4096;

/** Takes the events of one response. */
export class ResponseFold {
  #head: JsonObject = {};
  readonly #items: (JsonObject | undefined)[] = [];

  push(event: JsonObject): void {
    const response = objectOf(event.response);
    if (response !== undefined) this.#head = response;
    const { output_index: at } = event;
    if (typeof at !== 'number' || at < 0 || at >= MOST_ITEMS) return;
    const item = objectOf(event.item);
    if (item !== undefined) this.#items[at] = item;
    else if (typeof event.delta === 'string') this.#add(at, stringOf(event.type), event.delta);
  }

  /** What a piece adds to an item that is not done. */
  #add(at: number, type: string, delta: string): void {
    const item = this.#items[at];
    if (item === undefined) return;
    const more = (name: string): void => {
      this.#items[at] = { ...item, [name]: stringOf(item[name]) + delta };
    };
    if (type === 'response.function_call_arguments.delta') more('arguments');
    else if (type === 'response.custom_tool_call_input.delta') more('input');
    else if (type === 'response.output_text.delta')
      this.#text(at, item, 'content', 'output_text', 'text', delta);
    else if (type === 'response.refusal.delta') this.#text(at, item, 'content', 'refusal', 'refusal', delta);
    else if (type === 'response.reasoning_summary_text.delta')
      this.#text(at, item, 'summary', 'summary_text', 'text', delta);
    else if (type === 'response.reasoning_text.delta')
      this.#text(at, item, 'content', 'reasoning_text', 'text', delta);
  }

  #text(at: number, item: JsonObject, list: string, type: string, name: string, delta: string): void {
    const parts = Array.isArray(item[list]) ? item[list] : [];
    const last = parts.at(-1);
    const part =
      isObject(last) && last.type === type
        ? { ...last, [name]: stringOf(last[name]) + delta }
        : { type, [name]: delta };
    this.#items[at] = {
      ...item,
      [list]: [...(isObject(last) && last.type === type ? parts.slice(0, -1) : parts), part],
    };
  }

  /** The response. */
  response(): JsonObject {
    if (Array.isArray(this.#head.output) && this.#head.output.length > 0) return this.#head;
    return { ...this.#head, output: this.#items.filter(isObject) };
  }
}
