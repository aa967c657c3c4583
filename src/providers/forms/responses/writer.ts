// One answer of the chat form as a response, whole or piece by piece: the same steps for both.

import type { JsonObject } from '@bufbuild/protobuf';
import type { ContentBlock } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { arrayOf, isObject, objectOf } from '../../json-object.ts';
import { imageBytes, imagesIn, imageText } from '../images-in.ts';
import { ReasoningDetails } from '../reasoning-details.ts';
import { thoughtIn } from '../thought-in.ts';
import { Blocks } from './blocks.ts';
import type { Wire } from './conversation.ts';
import { type OpenText, Output, type Tell } from './output.ts';
import { pack } from './packed.ts';
import type { ToolKinds } from './tools.ts';
import { incompleteReason } from './usage.ts';

/** A message of the chat form or a piece of one. */
export interface Said {
  readonly content?: string | undefined;
  readonly refusal?: string | undefined;
  readonly reasoningContent?: string | undefined;
  readonly contentBlocks: readonly ContentBlock[];
  readonly toolCalls: readonly Called[];
  readonly extra?: JsonObject | undefined;
}

/** A call or a piece of one. */
export interface Called {
  readonly index?: number;
  readonly id?: string | undefined;
  readonly function?:
    | { readonly name?: string | undefined; readonly arguments?: string | undefined }
    | undefined;
  readonly extra?: JsonObject | undefined;
}

/** What an answer is written with. */
export interface WriterDeps {
  readonly head: JsonObject;
  /** Of the ids. */
  readonly key: string;
  readonly kinds: ToolKinds;
  readonly wire: Wire;
  readonly tell?: Tell;
}

/** Writes one response. */
export class ResponseWriter {
  readonly #head: JsonObject;
  readonly #wire: Wire;
  readonly #output: Output;
  readonly #blocks = new Blocks();
  /** Thoughts of wires that have no blocks for them. */
  #thoughts = '';
  readonly #details = new ReasoningDetails();
  #hasBlocks = false;
  #signed: JsonObject | undefined;
  /** Told at the end: a whole answer does not say where among its words they stand. */
  readonly #images: string[] = [];

  constructor({ head, key, kinds, wire, tell }: WriterDeps) {
    this.#head = head;
    this.#wire = wire;
    this.#output = new Output(key, kinds, tell);
  }

  /** A piece of the message. */
  push(said: Said, logprobs: readonly JsonObject[] = []): void {
    const { extra } = said;
    const thought = said.reasoningContent || thoughtIn(extra);
    this.#details.push(extra?.reasoning_details);
    for (const block of said.contentBlocks) this.#blocks.push(block);
    if (said.contentBlocks.length > 0) this.#hasBlocks = true;
    if (thought) this.#thinks(thought);
    if (said.content) {
      this.#endThought();
      this.#output.says(said.content, logprobs);
    }
    if (said.refusal) {
      this.#endThought();
      this.#output.refuses(said.refusal);
    }
    if (extra !== undefined) this.#further(extra);
    let at = 0;
    for (const call of said.toolCalls) this.#call(call, call.index ?? at++);
  }

  /** The piece of a message's text that is open. */
  openText(): OpenText | undefined {
    return this.#output.openText();
  }

  /** A whole message: its blocks tell in which order it thought and spoke. */
  pushWhole(said: Said, logprobs: readonly JsonObject[]): void {
    const texts = said.contentBlocks.filter(({ type }) => type === 'text').map(({ text }) => text ?? '');
    if (texts.length < 2 || texts.join('') !== said.content) {
      this.push(said, logprobs);
      return;
    }
    for (const block of said.contentBlocks) {
      this.push({
        content: block.type === 'text' ? block.text : undefined,
        reasoningContent: block.type === 'thinking' ? block.thinking : undefined,
        contentBlocks: [block],
        toolCalls: [],
      });
    }
    this.push({ ...said, content: undefined, reasoningContent: undefined, contentBlocks: [] });
  }

  /** Ends the answer. @param finish in any wire's words */
  end(
    finish: string | undefined,
    model: string,
    tier: string | undefined,
    usage: JsonObject | null,
    now: number,
  ): JsonObject {
    this.#endThought();
    if (this.#signed !== undefined) {
      this.#output.thinks('');
      this.#output.thought(pack({ ...this.#maker(), message: this.#signed }));
    }
    const reason = incompleteReason(finish);
    const bytes = this.#images.map(imageBytes);
    const others = this.#images.filter((_, i) => bytes[i] === undefined);
    if (others.length > 0) this.#output.says(others.map(imageText).join('\n'));
    this.#output.end(reason === undefined);
    for (const image of bytes) if (image !== undefined) this.#output.shows(image);
    return {
      ...this.snapshot(model),
      status: reason === undefined ? 'completed' : 'incomplete',
      completed_at: reason === undefined ? now : null,
      incomplete_details: reason === undefined ? null : { reason },
      ...(tier === undefined ? {} : { service_tier: tier }),
      usage,
    };
  }

  /** The response as it is now. */
  snapshot(model: string): JsonObject {
    return { ...this.#head, ...(model === '' ? {} : { model }), output: this.#output.items };
  }

  #thinks(text: string): void {
    if (!this.#hasBlocks) this.#thoughts += text;
    this.#output.thinks(text);
  }

  /** Ends what was thought, with what goes back to the wire. */
  #endThought(calls?: Readonly<Record<string, JsonObject>>): void {
    const isThinking = this.#output.isThinking;
    if (!isThinking && this.#blocks.isEmpty && this.#details.isEmpty && calls === undefined) return;
    if (!isThinking) this.#output.thinks('');
    const blocks = this.#blocks.take();
    const details = this.#details.take();
    const reasoning = this.#thoughts;
    this.#thoughts = '';
    const nothing = blocks.length === 0 && details.length === 0 && reasoning === '' && calls === undefined;
    const packed = {
      ...this.#maker(),
      ...(blocks.length === 0 ? {} : { blocks }),
      ...(details.length === 0 ? {} : { details }),
      ...(reasoning === '' ? {} : { reasoning }),
      ...(calls === undefined ? {} : { calls }),
    };
    this.#output.thought(nothing ? undefined : pack(packed));
  }

  #call({ id, function: called, extra }: Called, index: number): void {
    const signed =
      id && isObject(extra?.extra_content) ? { [id]: { extra_content: extra.extra_content } } : undefined;
    this.#endThought(this.#output.hasCall(index) ? undefined : signed);
    this.#output.calls(index, id, called?.name, called?.arguments ?? '');
  }

  #further(extra: JsonObject): void {
    this.#images.push(...imagesIn(extra));
    if (isObject(extra.extra_content)) this.#signed = { ...this.#signed, ...extra.extra_content };
    for (const annotation of arrayOf(extra.annotations)) {
      if (!isObject(annotation)) continue;
      this.#endThought();
      // The chat form has the members of a citation in an object of its type's name.
      const own = objectOf(annotation[String(annotation.type)]);
      this.#output.annotates(own === undefined ? annotation : { type: annotation.type!, ...own });
    }
  }

  #maker(): { readonly wire: string; readonly provider: string } {
    return { wire: this.#wire.dialect, provider: this.#wire.provider };
  }
}
