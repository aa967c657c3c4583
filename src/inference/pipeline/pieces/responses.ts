// The pieces of a streamed response: events of the Responses API.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type ModelResponse,
  type ResponseEvent,
  ResponseEventSchema,
} from '../../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Increment } from '../../../checks/stream/stream-guard.ts';
import { textsIn } from '../../../ledger/tokens/texts.ts';
import { jsonOf } from '../../../providers/forms/json-of.ts';
import { ResponseFold } from '../../../providers/forms/responses/fold.ts';
import { objectOf } from '../../../providers/json-object.ts';
import { codec } from '../../../rest/codec.ts';
import { AssembledFold } from './assembled-fold.ts';
import type { PieceForm } from './piece-form.ts';
import { ResponseTexts } from './response-texts.ts';

const KINDS: Readonly<Record<string, Increment['kind']>> = {
  'response.output_text.delta': 'content',
  'response.refusal.delta': 'content',
  'response.reasoning_summary_text.delta': 'reasoning',
  'response.reasoning_text.delta': 'reasoning',
  'response.audio.transcript.delta': 'content',
};
const CALLS = /^response\.(?:function_call_arguments|custom_tool_call_input|mcp_call_arguments)\.delta$/;
const BEGINNING =
  /^response\.(?:created|in_progress|queued|output_item\.added|content_part\.added|reasoning_summary_part\.added)$/;

/** Events of the Responses API. */
export const RESPONSES: PieceForm = {
  increments: (piece) => incrementsOf(piece as ResponseEvent),
  reader() {
    const texts = new ResponseTexts(incrementsOf);
    return (piece) => texts.of(piece as ResponseEvent);
  },
  hasContent: (piece) => !BEGINNING.test((piece as ResponseEvent).type),
  said,
  cutOff: (last, _chunk, first) => [cutOff(last as ResponseEvent, first as ResponseEvent)],
  closing: (last, members) => closing(last as ResponseEvent, members),
  assembled: () =>
    new AssembledFold(
      new ResponseFold(),
      (piece) => jsonOf(codec, ResponseEventSchema, piece as ResponseEvent),
      (fold) => fold.response(),
    ),
  asksUsage: () => false,
};

function incrementsOf({ type, outputIndex: call = 0, delta, item }: ResponseEvent): Increment[] {
  if (type === 'response.output_item.added') {
    const isCall = item?.type?.endsWith('_call') === true && item.name !== undefined;
    return isCall ? [{ unit: 0, kind: 'tool_call', call, name: item.name ?? '', text: '' }] : [];
  }
  if (delta === undefined || delta === '') return [];
  if (CALLS.test(type)) return [{ unit: 0, kind: 'tool_call', call, text: delta }];
  const kind = KINDS[type];
  return kind === undefined ? [] : [{ unit: 0, kind, text: delta }];
}

function said(part: object): string {
  const { output } = part as ModelResponse;
  if (output !== undefined) return textsIn(output);
  return (part as ResponseEvent).delta ?? '';
}

/** The answer ends as one that a filter cut: nothing is told of what was left out. */
function cutOff({ sequenceNumber = 0n }: ResponseEvent, first: ResponseEvent): object {
  const begun = jsonOf(codec, ResponseEventSchema, first).response;
  const response = {
    ...objectOf(begun),
    object: 'response',
    status: 'incomplete',
    output: [],
    incomplete_details: { reason: 'content_filter' },
    usage: {
      input_tokens: 0,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 0,
    },
  };
  return codec.decode(ResponseEventSchema, {
    type: 'response.incomplete',
    sequence_number: Number(sequenceNumber) + 1,
    response,
  });
}

function closing({ sequenceNumber = 0n }: ResponseEvent, members: JsonObject): object {
  return codec.decode(ResponseEventSchema, {
    type: 'response.hook_results',
    sequence_number: Number(sequenceNumber) + 1,
    ...members,
  });
}
