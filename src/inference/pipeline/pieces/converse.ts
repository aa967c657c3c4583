// The pieces of a ConverseStream.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type ConverseEvent,
  ConverseEventSchema,
  type ConverseResponse,
} from '../../../../gen/gateway/inference/v2/bedrock_pb.ts';
import type { Increment } from '../../../checks/stream/stream-guard.ts';
import { textsIn } from '../../../ledger/tokens/texts.ts';
import { ConverseFold } from '../../../providers/forms/bedrock/fold.ts';
import { jsonOf } from '../../../providers/forms/json-of.ts';
import { objectOf } from '../../../providers/json-object.ts';
import { codec } from '../../../rest/codec.ts';
import { AssembledFold } from './assembled-fold.ts';
import type { PieceForm } from './piece-form.ts';

/** Converse's events. */
export const CONVERSE: PieceForm = {
  increments: (piece) => incrementsOf(piece as ConverseEvent),
  hasContent(piece) {
    const { contentBlockStart, contentBlockDelta, messageStop, metadata } = piece as ConverseEvent;
    return (contentBlockStart ?? contentBlockDelta ?? messageStop ?? metadata) !== undefined;
  },
  said(part) {
    const { output } = part as ConverseResponse;
    if (output !== undefined) return textsIn(output.message?.content);
    return incrementsOf(part as ConverseEvent)
      .map(({ text, name = '' }) => text || name)
      .join('');
  },
  cutOff: (last) => endingOf(last as ConverseEvent).map((event) => codec.decode(ConverseEventSchema, event)),
  closing: (_last, members) => codec.decode(ConverseEventSchema, { ...members }),
  assembled: () =>
    new AssembledFold(
      new ConverseFold(),
      (piece) => jsonOf(codec, ConverseEventSchema, piece as ConverseEvent),
      (fold) => fold.answer(),
      ({ contentBlockDelta }) => JSON.stringify(contentBlockDelta ?? '').length,
    ),
  asksUsage: () => false,
};

/** The texts of one event. */
export function incrementsOf({ contentBlockStart, contentBlockDelta }: ConverseEvent): Increment[] {
  if (contentBlockStart !== undefined) {
    const name = objectOf(objectOf(contentBlockStart.start)?.toolUse)?.name;
    const call = Number(contentBlockStart.contentBlockIndex ?? 0);
    return typeof name === 'string' ? [{ unit: 0, kind: 'tool_call', call, name, text: '' }] : [];
  }
  const delta = objectOf(contentBlockDelta?.delta);
  if (delta === undefined) return [];
  const call = Number(contentBlockDelta?.contentBlockIndex ?? 0);
  const input = objectOf(delta.toolUse)?.input;
  if (typeof input === 'string' && input !== '') return [{ unit: 0, kind: 'tool_call', call, text: input }];
  return [
    ...increment('content', delta.text),
    ...increment('reasoning', objectOf(delta.reasoningContent)?.text),
  ];
}

function increment(kind: 'content' | 'reasoning', text: unknown): Increment[] {
  return typeof text === 'string' && text !== '' ? [{ unit: 0, kind, text }] : [];
}

/** The block that is open is closed, and the message ends as one that a filter cut. */
export function endingOf({ contentBlockStart, contentBlockDelta }: ConverseEvent): JsonObject[] {
  const open = contentBlockStart ?? contentBlockDelta;
  const contentBlockIndex = open?.contentBlockIndex ?? 0;
  return [
    ...(open === undefined ? [] : [{ contentBlockStop: { contentBlockIndex } }]),
    { messageStop: { stopReason: 'content_filtered' } },
    { metadata: { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, metrics: { latencyMs: 0 } } },
  ];
}
