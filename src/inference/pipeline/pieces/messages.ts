// The pieces of a streamed message: Anthropic's events.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type Message,
  type MessageEvent,
  MessageEventSchema,
} from '../../../../gen/gateway/inference/v2/messages_pb.ts';
import type { Increment } from '../../../checks/stream/stream-guard.ts';
import { textsIn } from '../../../ledger/tokens/texts.ts';
import { jsonOf } from '../../../providers/forms/json-of.ts';
import { MessageFold } from '../../../providers/forms/messages/fold.ts';
import { codec } from '../../../rest/codec.ts';
import { AssembledFold } from './assembled-fold.ts';
import type { PieceForm } from './piece-form.ts';

/** Anthropic's events. */
export const MESSAGES: PieceForm = {
  increments: (piece) => incrementsOf(piece as MessageEvent),
  hasContent(piece) {
    const { type } = piece as MessageEvent;
    if (type === 'message_start' || type === 'ping') return false;
    return type !== 'content_block_start' || incrementsOf(piece as MessageEvent).length > 0;
  },
  said,
  cutOff: (last) => endingOf(last as MessageEvent).map((event) => codec.decode(MessageEventSchema, event)),
  closing: (_last, members) => codec.decode(MessageEventSchema, { type: 'hook_results', ...members }),
  assembled: () =>
    new AssembledFold(
      new MessageFold(),
      (piece) => jsonOf(codec, MessageEventSchema, piece as MessageEvent),
      (fold) => fold.message(),
    ),
  asksUsage: () => false,
};

function incrementsOf({ type, index: call = 0, contentBlock: block, delta }: MessageEvent): Increment[] {
  if (type === 'content_block_start' && block !== undefined) {
    if (block.name !== undefined) return [{ unit: 0, kind: 'tool_call', call, name: block.name, text: '' }];
    return [...increment('content', block.text), ...increment('reasoning', block.thinking)];
  }
  if (type !== 'content_block_delta' || delta === undefined) return [];
  const { text, thinking, partial_json: piece } = delta;
  if (typeof piece === 'string' && piece !== '') return [{ unit: 0, kind: 'tool_call', call, text: piece }];
  return [...increment('content', text), ...increment('reasoning', thinking)];
}

function increment(kind: 'content' | 'reasoning', text: unknown): Increment[] {
  return typeof text === 'string' && text !== '' ? [{ unit: 0, kind, text }] : [];
}

function said(part: object): string {
  const { type } = part as MessageEvent;
  if (type === 'message') return textsIn((part as Message).content);
  const { delta, contentBlock: block } = part as MessageEvent;
  const text = delta?.text ?? delta?.thinking ?? delta?.partial_json ?? block?.text ?? block?.name;
  return typeof text === 'string' ? text : '';
}

/** The block that is open is closed, and the message ends as one that was refused. */
function endingOf({ type, index }: MessageEvent): JsonObject[] {
  const isOpen = type === 'content_block_start' || type === 'content_block_delta';
  return [
    ...(isOpen ? [{ type: 'content_block_stop', index: index ?? 0 }] : []),
    {
      type: 'message_delta',
      delta: { stop_reason: 'refusal', stop_sequence: null },
      usage: { output_tokens: 0 },
    },
    { type: 'message_stop' },
  ];
}
