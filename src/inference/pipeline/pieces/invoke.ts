// The pieces of InvokeModelWithResponseStream: events of the model's own form, which is told by each of them.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  ConverseEventSchema,
  type InvokeModelEvent,
  InvokeModelEventSchema,
} from '../../../../gen/gateway/inference/v2/bedrock_pb.ts';
import { ChatCompletionChunkSchema } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { MessageEventSchema } from '../../../../gen/gateway/inference/v2/messages_pb.ts';
import type { Increment } from '../../../checks/stream/stream-guard.ts';
import { textsIn } from '../../../ledger/tokens/texts.ts';
import { ConverseFold } from '../../../providers/forms/bedrock/fold.ts';
import { pieceKind } from '../../../providers/forms/bedrock/invoke-kind.ts';
import { jsonOf } from '../../../providers/forms/json-of.ts';
import { MessageFold } from '../../../providers/forms/messages/fold.ts';
import { codec } from '../../../rest/codec.ts';
import { AssembledFold } from './assembled-fold.ts';
import { CHOICES } from './choices.ts';
import { CONVERSE } from './converse.ts';
import { MESSAGES } from './messages.ts';
import type { PieceForm } from './piece-form.ts';

/** Events of any model's form. */
export const INVOKE: PieceForm = {
  increments(piece) {
    const known = knownOf(piece);
    return known === undefined ? ownIncrements(bodyOf(piece)) : known.form.increments(known.piece);
  },
  hasContent(piece) {
    const known = knownOf(piece);
    return known === undefined || known.form.hasContent(known.piece);
  },
  said(part) {
    const known = knownOf(part);
    return known === undefined ? textsIn(bodyOf(part)) : known.form.said(known.piece);
  },
  cutOff(last, _chunk, first) {
    const known = knownOf(last);
    if (known === undefined) return [];
    const ending = known.form.cutOff(known.piece, known.schema, knownOf(first)?.piece ?? known.piece);
    return ending.map((piece) =>
      codec.decode(InvokeModelEventSchema, codec.encode(known.schema, piece as never)),
    );
  },
  closing: (_last, members) => codec.decode(InvokeModelEventSchema, { ...members }),
  assembled: () =>
    new AssembledFold(
      new InvokeFold(),
      (piece) => bodyOf(piece),
      (fold) => fold.answer(),
      (event) => JSON.stringify(event).length,
    ),
  asksUsage: () => false,
};

function bodyOf(piece: object): JsonObject {
  return jsonOf(codec, InvokeModelEventSchema, piece as InvokeModelEvent);
}

function knownOf(piece: object) {
  const body = bodyOf(piece);
  switch (pieceKind(body)) {
    case 'messages':
      return { form: MESSAGES, schema: MessageEventSchema, piece: codec.decode(MessageEventSchema, body) };
    case 'nova':
      return { form: CONVERSE, schema: ConverseEventSchema, piece: codec.decode(ConverseEventSchema, body) };
    case 'chat':
      return {
        form: CHOICES,
        schema: ChatCompletionChunkSchema,
        piece: codec.decode(ChatCompletionChunkSchema, body),
      };
    default:
      return undefined;
  }
}

/** What Llama, Titan and Mistral name the text of a piece. */
function ownIncrements({ generation, outputText, outputs }: JsonObject): Increment[] {
  const [first] = Array.isArray(outputs) ? outputs : [];
  const text = generation ?? outputText ?? (first as JsonObject | undefined)?.text;
  return typeof text === 'string' && text !== '' ? [{ unit: 0, kind: 'content', text }] : [];
}

/** The events of one answer put together: as Anthropic's message or Nova's answer; of others the last is kept. */
class InvokeFold {
  readonly #message = new MessageFold();
  readonly #converse = new ConverseFold();
  #kind = 'own';
  #last: JsonObject = {};

  push(event: JsonObject): void {
    const kind = pieceKind(event);
    if (kind !== 'own') this.#kind = kind;
    this.#message.push(event);
    this.#converse.push(event);
    this.#last = event;
  }

  answer(): JsonObject {
    if (this.#kind === 'messages') return this.#message.message();
    return this.#kind === 'nova' ? this.#converse.answer() : this.#last;
  }
}
