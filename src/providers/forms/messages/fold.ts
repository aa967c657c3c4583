// The events of a streamed message put together, as the message would have come whole.
import type { JsonObject } from '@bufbuild/protobuf';
import { InnerJson } from '../../inner-json.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { keepMembers } from '../../kept-members.ts';
import { mergeUsage } from '../../merge-usage.ts';

/** Blocks of one message at the most. */
const MOST_BLOCKS = 4096;

/** Takes the events of one message. */
export class MessageFold {
  readonly #head: JsonObject = {};
  readonly #blocks: (JsonObject | undefined)[] = [];
  readonly #inputs = new Map<number, string>();
  readonly #end: JsonObject = {};
  #usage: JsonObject | undefined;

  push(event: JsonObject): void {
    const index = typeof event.index === 'number' ? event.index : 0;
    switch (event.type) {
      case 'message_start':
        this.#start(objectOf(event.message) ?? {});
        break;
      case 'content_block_start':
        if (index >= 0 && index < MOST_BLOCKS) this.#blocks[index] = { ...objectOf(event.content_block) };
        break;
      case 'content_block_delta':
        this.#add(index, objectOf(event.delta) ?? {});
        break;
      case 'message_delta':
        keepMembers(this.#end, objectOf(event.delta));
        this.#count(objectOf(event.usage));
        break;
      default:
    }
  }

  /** A fallback inside of the provider begins the message again. */
  #start({ content: _, usage, ...head }: JsonObject): void {
    keepMembers(this.#head, head);
    this.#count(objectOf(usage));
  }

  #count(usage: JsonObject | undefined): void {
    if (usage !== undefined) this.#usage = mergeUsage(this.#usage, usage);
  }

  #add(index: number, delta: JsonObject): void {
    const block = this.#blocks[index];
    if (block === undefined) return;
    const { type, text, thinking, signature, partial_json: piece, citation } = delta;
    if (type === 'text_delta') block.text = (textOf(block.text) ?? '') + (textOf(text) ?? '');
    else if (type === 'thinking_delta')
      block.thinking = (textOf(block.thinking) ?? '') + (textOf(thinking) ?? '');
    else if (type === 'signature_delta') block.signature = textOf(signature) ?? '';
    else if (type === 'input_json_delta')
      this.#inputs.set(index, (this.#inputs.get(index) ?? '') + (textOf(piece) ?? ''));
    else if (type === 'citations_delta' && citation !== undefined) {
      if (!Array.isArray(block.citations)) block.citations = [];
      block.citations.push(citation);
    }
  }

  /** The message. */
  message(): JsonObject {
    const inner = new InnerJson();
    const content = [...this.#blocks.entries()].flatMap(([index, block]): JsonObject[] => {
      if (!isObject(block)) return [];
      const input = this.#inputs.get(index);
      return [input === undefined ? block : { ...block, input: inner.object(input) ?? {} }];
    });
    return {
      ...this.#head,
      content,
      ...this.#end,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    };
  }
}
