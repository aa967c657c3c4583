// The events of one ConverseStream put together, as Converse would have answered.
import type { JsonObject } from '@bufbuild/protobuf';
import { InnerJson } from '../../inner-json.ts';
import { objectOf, textOf } from '../../json-object.ts';
import { keepMembers } from '../../kept-members.ts';

/** Blocks of one message at the most. */
const MOST_BLOCKS = 4096;

interface Block {
  text?: string;
  toolUse?: JsonObject & { input: string };
  thought?: string;
  signature?: string;
  redacted?: string;
}

/** Takes the events of one answer. */
export class ConverseFold {
  readonly #blocks = new Map<number, Block>();
  readonly #end: JsonObject = {};

  push(event: JsonObject): void {
    const [begun, piece] = [objectOf(event.contentBlockStart), objectOf(event.contentBlockDelta)];
    if (begun !== undefined) this.#begin(begun);
    else if (piece !== undefined) this.#add(this.#at(piece), objectOf(piece.delta) ?? {});
    else if (event.messageStop !== undefined) keepMembers(this.#end, objectOf(event.messageStop));
    else if (event.metadata !== undefined) keepMembers(this.#end, objectOf(event.metadata));
  }

  #begin(json: JsonObject): void {
    const use = objectOf(objectOf(json.start)?.toolUse);
    if (use !== undefined) this.#at(json).toolUse = { ...use, input: '' };
  }

  #at({ contentBlockIndex }: JsonObject): Block {
    const index = typeof contentBlockIndex === 'number' ? contentBlockIndex : 0;
    const block = this.#blocks.get(index) ?? {};
    if (this.#blocks.size < MOST_BLOCKS) this.#blocks.set(index, block);
    return block;
  }

  #add(block: Block, { text, toolUse, reasoningContent }: JsonObject): void {
    const thought = objectOf(reasoningContent);
    const input = textOf(objectOf(toolUse)?.input);
    if (typeof text === 'string') block.text = (block.text ?? '') + text;
    if (input !== undefined && block.toolUse !== undefined) block.toolUse.input += input;
    if (typeof thought?.text === 'string') block.thought = (block.thought ?? '') + thought.text;
    if (typeof thought?.signature === 'string') block.signature = thought.signature;
    if (typeof thought?.redactedContent === 'string') block.redacted = thought.redactedContent;
  }

  /** The whole answer. */
  answer(): JsonObject {
    const inner = new InnerJson();
    const content = [...this.#blocks]
      .sort(([one], [other]) => one - other)
      .flatMap(([, block]) => whole(block, inner));
    return { output: { message: { role: 'assistant', content } }, ...this.#end };
  }
}

function whole({ text, toolUse, thought, signature, redacted }: Block, inner: InnerJson): JsonObject[] {
  if (toolUse !== undefined)
    return [{ toolUse: { ...toolUse, input: inner.object(toolUse.input || '{}') ?? {} } }];
  if (redacted !== undefined) return [{ reasoningContent: { redactedContent: redacted } }];
  if (thought !== undefined || signature !== undefined)
    return [
      {
        reasoningContent: {
          reasoningText: { text: thought ?? '', ...(signature === undefined ? {} : { signature }) },
        },
      },
    ];
  return text === undefined ? [] : [{ text }];
}
