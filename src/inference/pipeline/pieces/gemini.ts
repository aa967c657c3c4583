// The pieces of a streamed generateContent: whole responses with what is new.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type GenerateContentResponse,
  GenerateContentResponseSchema,
} from '../../../../gen/gateway/inference/v2/gemini_pb.ts';
import type { Increment } from '../../../checks/stream/stream-guard.ts';
import { textsIn } from '../../../ledger/tokens/texts.ts';
import { GeminiFold } from '../../../providers/forms/gemini/fold.ts';
import { jsonOf } from '../../../providers/forms/json-of.ts';
import { codec } from '../../../rest/codec.ts';
import { AssembledFold } from './assembled-fold.ts';
import type { PieceForm } from './piece-form.ts';

/** Google's responses. */
export const GEMINI: PieceForm = {
  increments: (piece) => incrementsOf(piece as GenerateContentResponse),
  hasContent(piece) {
    const { candidates, promptFeedback } = piece as GenerateContentResponse;
    if (promptFeedback !== undefined) return true;
    return (
      candidates.some(({ finishReason }) => finishReason) ||
      incrementsOf(piece as GenerateContentResponse).length > 0
    );
  },
  said: (part) => textsIn((part as GenerateContentResponse).candidates),
  cutOff: (last) => [codec.decode(GenerateContentResponseSchema, endingOf(last as GenerateContentResponse))],
  closing: (last, members) =>
    codec.decode(GenerateContentResponseSchema, { ...headOf(last as GenerateContentResponse), ...members }),
  assembled: () =>
    new AssembledFold(
      new GeminiFold(),
      (piece) => jsonOf(codec, GenerateContentResponseSchema, piece as GenerateContentResponse),
      (fold) => fold.response(),
      ({ candidates }) => JSON.stringify(candidates ?? '').length,
    ),
  asksUsage: () => false,
};

function incrementsOf({ candidates }: GenerateContentResponse): Increment[] {
  return candidates.flatMap(({ content, index: unit = 0 }) =>
    (content?.parts ?? []).flatMap((part, call): Increment[] => {
      const { text, thought, functionCall, extra } = part;
      if (text !== undefined)
        return text === '' ? [] : [{ unit, kind: thought ? 'reasoning' : 'content', text }];
      if (functionCall !== undefined) {
        const { name = '', arguments: args } = functionCall;
        return [{ unit, kind: 'tool_call', call, name, text: JSON.stringify(args ?? {}) }];
      }
      const code = (extra?.executableCode as JsonObject | undefined)?.code;
      const output = (extra?.codeExecutionResult as JsonObject | undefined)?.output;
      const said = typeof code === 'string' ? code : output;
      return typeof said === 'string' && said !== '' ? [{ unit, kind: 'content', text: said }] : [];
    }),
  );
}

function headOf({ modelVersion, responseId }: GenerateContentResponse): JsonObject {
  return {
    ...(modelVersion === undefined ? {} : { modelVersion }),
    ...(responseId === undefined ? {} : { responseId }),
  };
}

/** The answer ends as one that a filter cut. */
function endingOf(last: GenerateContentResponse): JsonObject {
  const [index = 0] = last.candidates.map((candidate) => candidate.index);
  return {
    candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'SAFETY', index }],
    ...headOf(last),
  };
}
