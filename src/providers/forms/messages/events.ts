// The chunks of a streamed chat completion as the events of a streamed message (Anthropic, "Streaming messages"): folded
// together they are the message that the whole answer is.

import type { JsonObject } from '@bufbuild/protobuf';
import type {
  ChatChunkChoice,
  ChatCompletionChunk,
  ChatDelta,
  ContentBlock,
  ToolCallDelta,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { type MessageEvent, MessageEventSchema } from '../../../../gen/gateway/inference/v2/messages_pb.ts';
import type { FoundEvents } from '../../../lib/found-events.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { Run } from '../../../lib/runs.ts';
import { RunShape, ShapedRun } from '../../../lib/shaped-run.ts';
import type { MessageJson } from '../../dialect.ts';
import { arrayOf, objectOf, textOf } from '../../json-object.ts';
import { ObjectEnd } from '../../object-end.ts';
import type { UsageReport } from '../../usage/report.ts';
import { type PieceTranslator, saysTextAlone, TEXT_HOLE } from '../form.ts';
import { imagesIn, imageText } from '../images-in.ts';
import { ReasoningDetails } from '../reasoning-details.ts';
import { thoughtIn } from '../thought-in.ts';
import { blockJson, sourcesText } from './answer.ts';
import { citationsIn, keptDetails, keptSignature } from './kept.ts';
import { callId, messageId, messageUsage, NO_USAGE, stopReason } from './words.ts';

const NONE: readonly never[] = Object.freeze([]);
const STOP: JsonObject = Object.freeze({ type: 'message_stop' });
/** Of a piece of a block. */
const TEXT = 'content_block_delta';
const PING: JsonObject = Object.freeze({ type: 'ping' });

/** Calls of one answer at the most. */
const MOST_CALLS = 1024;

/** An event with its JSON attached. */
export function eventOf(json: MessageJson, event: JsonObject, text = JSON.stringify(event)): MessageEvent {
  const read = (): MessageEvent => json.decode(MessageEventSchema, event);
  return attachRawJson(lazyMessage(MessageEventSchema, read, knownOf(event)), text);
}

/** What the books read of every event; of a block's beginning they read the block. */
function knownOf({ type, delta, content_block: block }: JsonObject): Partial<MessageEvent> | undefined {
  if (typeof type !== 'string' || block !== undefined) return undefined;
  return { type, contentBlock: undefined, delta: objectOf(delta) };
}

/** The block that is open: only one is at a time. */
interface OpenBlock {
  readonly index: number;
  /** What it belongs to, so that the next piece of the same goes into it. */
  readonly key: string;
  /** Thinking without a proof so far. */
  unsigned: boolean;
}

/** A call so far. */
interface Call {
  readonly index: number;
  readonly start: JsonObject;
  readonly proof: JsonObject | undefined;
  text: string;
  readonly end: ObjectEnd;
}

/** What the events of one answer are written with. */
export interface MessageEventsOptions<E> {
  /** That was asked for, where the answer names none. */
  readonly model: string;
  /** That answers. */
  readonly provider: string;
  /** An event of its JSON, where events are given as they are. */
  readonly read?: (json: string) => E;
}

/** Translates the chunks of one answer. @template E what becomes of an event: itself, or what another form has for it */
export class MessageEvents<E = MessageEvent> implements PieceTranslator<E> {
  readonly #emit: (event: JsonObject) => readonly E[];
  readonly #model: string;
  readonly #provider: string;
  #out: E[] = [];
  #started = false;
  #open: OpenBlock | undefined;
  #next = 0;
  #calls = 0;
  /** The call whose block is open. */
  #current: Call | undefined;
  /** Calls that began before the one before them was whole: blocks do not interleave. */
  readonly #waiting = new Map<number, Call>();
  /** Indexes of calls that were given. */
  readonly #given = new Set<number>();
  #finish: string | undefined;
  #refused = false;
  #sequence: string | undefined;
  #usage: Usage | undefined;
  #ownContent: JsonObject | undefined;
  /** Told at the end, as in a whole answer. */
  readonly #images: string[] = [];
  /** What proves the thoughts, until they end. */
  readonly #details = new ReasoningDetails();
  /** Texts come as Anthropic's own blocks, with citations of their own. */
  #hasOwnText = false;
  /** Of a text that has not begun, or has ended. */
  #citations: JsonObject[] = [];
  readonly #read: ((json: string) => E) | undefined;
  /** The last chunk. */
  #last: ChatCompletionChunk | undefined;

  constructor(emit: (event: JsonObject) => readonly E[], { model, provider, read }: MessageEventsOptions<E>) {
    this.#emit = emit;
    this.#model = model;
    this.#provider = provider;
    this.#read = read;
  }

  push(chunk: ChatCompletionChunk): readonly E[] {
    this.#out = [];
    this.#last = chunk;
    if (!this.#started) this.#start(chunk);
    if (chunk.usage !== undefined) this.#usage = chunk.usage;
    // Answers beyond the first have no place in a message.
    for (const choice of chunk.choices) if (choice.index === 0) this.#choice(choice);
    return this.#out.length === 0 ? NONE : this.#out;
  }

  again(): ((found: FoundEvents) => Run<E>) | undefined {
    const [last, read, open] = [this.#last, this.#read, this.#open];
    if (last === undefined || read === undefined || open?.key !== 'text') return undefined;
    // One event: its block was open before.
    if (this.#out.length !== 1 || !saysTextAlone(last)) return undefined;
    const before = `{"type":"${TEXT}","index":${open.index},"delta":{"type":"text_delta","text":"`;
    const shape = new RunShape(TEXT, [before, '"}}'], [TEXT_HOLE], read);
    return (found) => new ShapedRun(shape, found);
  }

  end(usage: UsageReport): readonly E[] {
    this.#out = [];
    if (!this.#started) this.#begin('', this.#model);
    for (const call of this.#waiting.values()) this.#openCall(call);
    this.#close();
    for (const text of [this.#images.map(imageText).join('\n'), sourcesText(this.#citations.splice(0))]) {
      if (text !== '') this.#text(text);
      this.#close();
    }
    this.#prove();
    if (this.#ownContent !== undefined) this.#proof({ extra_content: this.#ownContent });
    const delta = {
      stop_reason: stopReason(this.#finish, this.#calls > 0, this.#refused),
      stop_sequence: this.#sequence ?? null,
    };
    this.#send({
      type: 'message_delta',
      delta,
      usage: messageUsage(typeof usage === 'object' ? usage : this.#usage),
    });
    this.#send(STOP);
    return this.#out;
  }

  #start({ id, model }: ChatCompletionChunk): void {
    this.#begin(id, model || this.#model);
  }

  #begin(id: string, model: string): void {
    this.#started = true;
    this.#send({
      type: 'message_start',
      message: {
        id: messageId(id),
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: NO_USAGE,
      },
    });
    this.#send(PING);
  }

  #choice({ delta, finishReason, extra }: ChatChunkChoice): void {
    if (delta !== undefined) this.#delta(delta);
    if (finishReason) this.#finish = finishReason;
    this.#sequence = textOf(extra?.stop_sequence) ?? this.#sequence;
  }

  #delta(delta: ChatDelta): void {
    const { contentBlocks, reasoningContent, content, refusal, toolCalls, extra } = delta;
    let [thought, said] = [
      reasoningContent || thoughtIn(extra),
      content || refusal || textOf(extra?.tool_plan),
    ];
    if (refusal) this.#refused = true;
    this.#details.push(extra?.reasoning_details);
    for (const block of contentBlocks) {
      // The same words stand in the delta's own members.
      if (block.type === 'thinking') thought = undefined;
      else if (block.type === 'text') {
        said = undefined;
        this.#hasOwnText = true;
      }
      this.#own(block);
    }
    if (thought) this.#thinking(thought);
    if (said) this.#text(said);
    if (!this.#hasOwnText) this.#cite(citationsIn(extra));
    for (const call of toolCalls) this.#call(call);
    this.#images.push(...imagesIn(extra));
    this.#ownContent = objectOf(extra?.extra_content) ?? this.#ownContent;
  }

  #thinking(thinking: string): void {
    this.#enter('thinking', { type: 'thinking', thinking: '', signature: '' });
    this.#add({ type: 'thinking_delta', thinking });
  }

  #text(text: string): void {
    this.#enter('text', { type: 'text', text: '' });
    this.#add({ type: 'text_delta', text });
    this.#cite(this.#citations.splice(0));
  }

  /** Sources of the text that is open; else of the next one. */
  #cite(citations: readonly JsonObject[]): void {
    if (this.#open?.key !== 'text') this.#citations.push(...citations);
    else for (const citation of citations) this.#add({ type: 'citations_delta', citation });
  }

  /** A piece of one of Anthropic's own blocks; its index tells which. */
  #own(block: ContentBlock): void {
    const at = typeof block.extra?.index === 'number' ? block.extra.index : 0;
    const { type } = block;
    const {
      index: _,
      type: __,
      text,
      thinking,
      signature,
      partial_json: piece,
      ...rest
    } = {
      ...blockJson(block),
      signature: block.signature,
      index: at,
    } as JsonObject;
    const key = `own ${at}`;
    if (this.#open?.key !== key) {
      const isPlain = type === 'text' || type === 'thinking';
      const empty: JsonObject = type === 'thinking' ? { thinking: '', signature: '' } : { text: '' };
      this.#enter(key, isPlain ? { type, ...empty } : { type, ...rest });
    }
    if (textOf(text) !== undefined) this.#add({ type: 'text_delta', text: text! });
    if (textOf(thinking) !== undefined) this.#add({ type: 'thinking_delta', thinking: thinking! });
    if (textOf(signature) !== undefined) this.#add({ type: 'signature_delta', signature: signature! });
    if (textOf(piece) !== undefined) this.#add({ type: 'input_json_delta', partial_json: piece! });
    if (type !== 'text') return;
    const cited = rest.citation === undefined ? arrayOf(rest.citations) : [rest.citation];
    for (const citation of cited) this.#add({ type: 'citations_delta', citation });
  }

  #call({ index, id, function: called, extra }: ToolCallDelta): void {
    const piece = called?.arguments ?? '';
    if (this.#current?.index === index) {
      this.#current.end.add(piece);
      if (piece !== '') this.#add({ type: 'input_json_delta', partial_json: piece });
      return;
    }
    let call = this.#waiting.get(index);
    if (call === undefined) {
      if (this.#given.has(index) || this.#given.size >= MOST_CALLS) return;
      this.#given.add(index);
      const start = {
        type: 'tool_use',
        id: callId(id, this.#last!.id, this.#calls++),
        name: called?.name ?? '',
        input: {},
      };
      call = { index, start, proof: objectOf(extra?.extra_content), text: '', end: new ObjectEnd() };
      this.#waiting.set(index, call);
    }
    call.text += piece;
    call.end.add(piece);
    const before = this.#current;
    if (before !== undefined && !before.end.reached) return;
    // In the order in which they began.
    const [first] = this.#waiting.values();
    if (first !== undefined) this.#openCall(first);
  }

  #openCall(call: Call): void {
    this.#waiting.delete(call.index);
    if (call.proof !== undefined) this.#proof({ extra_content: call.proof });
    this.#enter(`call ${call.index}`, call.start);
    this.#current = call;
    if (call.text !== '') this.#add({ type: 'input_json_delta', partial_json: call.text });
  }

  /** What the provider wants back with the call that follows, or with the text before. */
  #proof(own: JsonObject): void {
    this.#close();
    this.#enter('proof', { type: 'thinking', thinking: '', signature: '' });
    this.#add({ type: 'signature_delta', signature: keptSignature(own) });
    this.#close();
  }

  /** What proves thoughts that have no words. */
  #prove(): void {
    const proof = keptDetails(this.#details.take(), this.#provider);
    if (proof !== undefined) this.#proof(proof);
  }

  #enter(key: string, block: JsonObject): void {
    if (this.#open?.key === key) return;
    this.#close();
    if (block.type !== 'thinking') this.#prove();
    this.#open = { index: this.#next++, key, unsigned: block.type === 'thinking' };
    this.#send({ type: 'content_block_start', index: this.#open.index, content_block: block });
  }

  #add(delta: JsonObject): void {
    if (delta.type === 'signature_delta') this.#open!.unsigned = false;
    this.#send({ type: TEXT, index: this.#open!.index, delta });
  }

  #close(): void {
    const open = this.#open;
    if (open === undefined) return;
    // Thinking of another wire has no proof; what stands in its place keeps it from Anthropic's own.
    if (open.unsigned) {
      const proof = keptDetails(this.#details.take(), this.#provider);
      this.#add({ type: 'signature_delta', signature: keptSignature(proof) });
    }
    this.#open = undefined;
    this.#current = undefined;
    this.#send({ type: 'content_block_stop', index: open.index });
  }

  #send(event: JsonObject): void {
    this.#out.push(...this.#emit(event));
  }
}
