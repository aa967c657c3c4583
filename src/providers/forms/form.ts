// How an operation is spoken over another one. The one internal form is the gateway's chat form (CreateChatCompletion-
// Request, ChatCompletion, ChatCompletionChunk with their further members: `content_blocks` with signatures,
// `reasoning_content`, `extra_content`, `cache_control`): every dialect translates to and from it already, so that a
// published form is written once and not once for every wire.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatCompletion, ChatCompletionChunk } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import type { FoundEvents } from '../../lib/found-events.ts';
import type { Run } from '../../lib/runs.ts';
import type { Target, TranslationContext } from '../dialect.ts';
import type { UsageReport } from '../usage/report.ts';
import type { Carries } from './ability.ts';

/** A request in the chat form. */
export interface AsChat {
  /** As JSON. */
  readonly chat: JsonObject;
  /** Paths of members that the wire cannot carry. */
  readonly lost: readonly string[];
}

/** An operation's form, to and from chat. */
export interface Form<Request, Answer, Chunk> {
  /**
   * Members of the chat form that are left out and named where a dialect refuses them, by what this form calls them.
   * Absent: what a dialect refuses is refused.
   */
  readonly optional?: Readonly<Record<string, string>>;
  /** Where the form's turns stand: what a dialect leaves out of messages is told below it. Absent: that is not told. */
  readonly turns?: string;
  /** @throws GatewayError `validation_failed` for what no wire could be asked. */
  toChat(request: Request, carries: Carries, stream: boolean, target: Target): AsChat;
  /** A whole answer. */
  answer(
    completion: ChatCompletion,
    request: Request,
    context: TranslationContext,
    usage: UsageReport,
  ): Answer;
  /** A fresh translator of one streamed answer. */
  pieces(request: Request, context: TranslationContext): PieceTranslator<Chunk>;
  /** A whole answer in the form of a streamed one. */
  wholeAsChunks(answer: Answer, request: Request): readonly Chunk[];
}

/** Turns the chunks of one answer into the form's own pieces. */
export interface PieceTranslator<Chunk> {
  push(chunk: ChatCompletionChunk): readonly Chunk[];
  /** Called once, when the answer has come to its end. */
  end(usage: UsageReport): readonly Chunk[];
  /**
   * What becomes of chunks that repeat the last one with another text; undefined: they are given to `push`. What it gives
   * takes note of the texts, and holds until the next `push`.
   */
  again?(): ((found: FoundEvents) => Run<Chunk>) | undefined;
}

/** A form whose answers come whole, to and from another operation. */
export interface WholeForm<Request, Answer, OtherRequest, OtherAnswer> {
  /** @throws GatewayError `validation_failed` for what cannot be asked. */
  to(request: Request): { readonly other: OtherRequest; readonly lost: readonly string[] };
  answer(other: OtherAnswer, request: Request): Answer;
}

/** Where the text stands in chunks that repeat one that says a text alone: it is their first hole. */
export const TEXT_HOLE = 0;

/** Whether a chunk says a piece of a text, and nothing that another one like it would add to what is known. */
export function saysTextAlone({ choices, usage }: ChatCompletionChunk): boolean {
  const [choice] = choices;
  if (choices.length !== 1 || choice?.delta === undefined || usage !== undefined) return false;
  const { content, refusal, reasoningContent, contentBlocks, toolCalls, functionCall, extra } = choice.delta;
  if (!content || refusal || reasoningContent || contentBlocks.length > 0 || toolCalls.length > 0)
    return false;
  return functionCall === undefined && !choice.finishReason && hasNothing(extra);
}

/** Some providers tell of each member that it is not there. */
function hasNothing(extra: JsonObject | undefined): boolean {
  if (extra === undefined) return true;
  return Object.values(extra).every((value) => value === null || value === '' || isEmptyList(value));
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
