// How an operation is spoken over another one. The one internal form is the gateway's chat form (CreateChatCompletion-
// Request, ChatCompletion, ChatCompletionChunk with their further members: `content_blocks` with signatures,
// `reasoning_content`, `extra_content`, `cache_control`): every dialect translates to and from it already, so that a
// published form is written once and not once for every wire.
import type { JsonObject } from '@bufbuild/protobuf';
import type { ChatCompletion, ChatCompletionChunk } from '../../../gen/gateway/inference/v2/chat_pb.ts';
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
}

/** A form whose answers come whole, to and from another operation. */
export interface WholeForm<Request, Answer, OtherRequest, OtherAnswer> {
  /** @throws GatewayError `validation_failed` for what cannot be asked. */
  to(request: Request): { readonly other: OtherRequest; readonly lost: readonly string[] };
  answer(other: OtherAnswer, request: Request): Answer;
}
