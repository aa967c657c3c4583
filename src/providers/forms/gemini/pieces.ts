// The chunks of a streamed chat completion as the responses of streamGenerateContent: texts as they come, calls when they
// are whole, and a last response with the reasons and the counts.

import type { JsonObject } from '@bufbuild/protobuf';
import type {
  ChatChunkChoice,
  ChatCompletionChunk,
  ContentBlock,
  ToolCallDelta,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import type { GenerateContentResponse } from '../../../../gen/gateway/inference/v2/gemini_pb.ts';
import { tooHeavyEvent } from '../../../lib/heavy-event.ts';
import type { MessageJson } from '../../dialect.ts';
import { InnerJson } from '../../inner-json.ts';
import { arrayOf, textOf } from '../../json-object.ts';
import type { UsageReport } from '../../usage/report.ts';
import type { PieceTranslator } from '../form.ts';
import { blockJson } from '../messages/answer.ts';
import { thoughtIn } from '../thought-in.ts';
import { callPart, imagePart, isThinking, signedBy, written } from './answer.ts';
import { keptSignature } from './kept.ts';
import { finishReason, logprobsResult, usageMetadata } from './words.ts';

const NONE: readonly never[] = Object.freeze([]);
/** Calls of one answer at the most. */
const MOST_CALLS = 1024;

interface Call {
  id: string | undefined;
  name: string;
  args: string;
  extra: JsonObject | undefined;
}

/** One answer so far. */
interface Candidate {
  readonly calls: Map<number, Call>;
  /** Thinking that another wire wants back, by the block's index. */
  readonly blocks: Map<number, JsonObject>;
  /** Whether anything was told. */
  told: boolean;
  finish: string | undefined;
}

/** Translates the chunks of one answer. */
export class GeminiPieces implements PieceTranslator<GenerateContentResponse> {
  readonly #json: MessageJson;
  readonly #thoughts: boolean;
  #model: string;
  #id = '';
  #usage: Usage | undefined;
  readonly #candidates = new Map<number, Candidate>();

  /** @param thoughts whether the caller wants to see what the model thinks */
  constructor(json: MessageJson, model: string, thoughts: boolean) {
    this.#json = json;
    this.#model = model;
    this.#thoughts = thoughts;
  }

  push(chunk: ChatCompletionChunk): readonly GenerateContentResponse[] {
    if (this.#id === '') this.#id = chunk.id;
    if (chunk.model !== '') this.#model = chunk.model;
    if (chunk.usage !== undefined) this.#usage = chunk.usage;
    const told = chunk.choices.flatMap((choice) => this.#choice(choice));
    return told.length === 0 ? NONE : [this.#response(told, {})];
  }

  end(usage: UsageReport): readonly GenerateContentResponse[] {
    if (this.#candidates.size === 0) this.#of(0);
    const counts = usageMetadata(typeof usage === 'object' ? usage : this.#usage);
    const inner = new InnerJson();
    const last = [...this.#candidates].map(([index, candidate]) => {
      const calls = [...candidate.calls.values()].map(({ id, name, args, extra }) =>
        callPart({ id, function: { name, arguments: args }, extra } as never, (text) => inner.object(text)),
      );
      if (inner.exceeded) throw tooHeavyEvent();
      const parts = this.#proven(candidate, calls);
      return {
        content: { parts, role: 'model' },
        finishReason: finishReason(candidate.finish, calls.length > 0),
        index,
      };
    });
    return [this.#response(last, { usageMetadata: counts })];
  }

  #choice({ index, delta, finishReason: finish, logprobs }: ChatChunkChoice): JsonObject[] {
    const candidate = this.#of(index);
    if (finish) candidate.finish = finish;
    if (delta === undefined) return [];
    const parts: JsonObject[] = [];
    let thought = delta.reasoningContent || thoughtIn(delta.extra) || '';
    for (const block of delta.contentBlocks) {
      if (isThinking(block)) keep(candidate, block);
      if (thought === '' && block.type === 'thinking') thought = block.thinking ?? '';
    }
    if (this.#thoughts && thought !== '') parts.push({ text: thought, thought: true });
    const said =
      delta.content || delta.refusal || textOf(delta.extra?.tool_plan) || ownText(delta.contentBlocks);
    const spoken: JsonObject = said === '' ? {} : { text: said };
    const text = signedBy(spoken, delta.toolCalls.length === 0 ? delta.extra : undefined);
    const own = Object.keys(text).length === 0 ? [] : [{ text: '', ...text }];
    parts.push(
      ...this.#proven(
        candidate,
        [...own, ...arrayOf(delta.extra?.images).flatMap(imagePart)],
        own.length > 0,
      ),
    );
    for (const call of delta.toolCalls) take(candidate, call);
    if (parts.length === 0) return [];
    candidate.told = true;
    return [{ content: { parts, role: 'model' }, index, ...logprobsResult(logprobs) }];
  }

  /** The parts, the first with the proof of what was thought before it. @param has whether a part may be made for it */
  #proven({ blocks }: Candidate, parts: JsonObject[], has = true): JsonObject[] {
    if (blocks.size === 0 || !has) return parts;
    const [first = { text: '' }, ...rest] = parts;
    const signature = keptSignature([...blocks.values()]);
    blocks.clear();
    return [{ ...first, thoughtSignature: signature }, ...rest];
  }

  #of(index: number): Candidate {
    let candidate = this.#candidates.get(index);
    if (candidate === undefined) {
      candidate = { calls: new Map(), blocks: new Map(), told: false, finish: undefined };
      this.#candidates.set(index, candidate);
    }
    return candidate;
  }

  #response(candidates: JsonObject[], more: JsonObject): GenerateContentResponse {
    return written(this.#json, { candidates, ...more, modelVersion: this.#model, responseId: this.#id });
  }
}

function ownText(blocks: readonly ContentBlock[]): string {
  return blocks.map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join('');
}

/** Pieces of one block are joined. */
function keep({ blocks }: Candidate, block: ContentBlock): void {
  const at = typeof block.extra?.index === 'number' ? block.extra.index : 0;
  const before = blocks.get(at) ?? {};
  const piece = blockJson(block);
  const joined: JsonObject = { ...before, ...piece };
  if (piece.thinking !== undefined || before.thinking !== undefined)
    joined.thinking = (textOf(before.thinking) ?? '') + (textOf(piece.thinking) ?? '');
  const signature = block.signature ?? textOf(before.signature);
  if (signature !== undefined) joined.signature = signature;
  blocks.set(at, joined);
}

function take({ calls }: Candidate, { index, id, function: called, extra }: ToolCallDelta): void {
  let call = calls.get(index);
  if (call === undefined) {
    if (calls.size >= MOST_CALLS) return;
    call = { id: undefined, name: '', args: '', extra: undefined };
    calls.set(index, call);
  }
  if (id) call.id ??= id;
  if (call.name === '') call.name = called?.name ?? '';
  call.args += called?.arguments ?? '';
  call.extra ??= extra;
}
