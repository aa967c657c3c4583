// Responses: native where the provider publishes them, else over its chat; what providers do not keep is kept here.
import type {
  CancelResponseRequest,
  CompactResponseRequest,
  CreateResponseRequest,
  DeletedResponse,
  DeleteResponseRequest,
  GetResponseRequest,
  InputItemList,
  ListInputItemsRequest,
  ModelResponse,
  ResponseEvent,
} from '../../../gen/gateway/inference/v2/responses_pb.ts';
import {
  DeletedResponseSchema,
  ModelResponseSchema,
} from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { invalidField } from '../../lib/errors.ts';
import { jsonOf } from '../../providers/forms/json-of.ts';
import { messageOf } from '../../providers/forms/responses/form.ts';
import type { AnswerOf, OperationName, RequestOf } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { runStream, runWhole } from '../pipeline/run.ts';
import { inputItems } from './input-items.ts';
import { Keeper } from './keep.ts';
import type { KeptResponse, KeptResponses } from './kept-responses.ts';
import { routedTo } from './made-by.ts';
import { keptOf, ownerOf, resolved } from './resolve.ts';
import { toldEvents } from './told-events.ts';

/** The methods of ResponsesService. */
export function responsesService(pipeline: Pipeline, kept: KeptResponses) {
  /** Asks whom it was made by. */
  const atMaker = <N extends OperationName>(
    call: Call,
    name: N,
    request: RequestOf<N>,
    made: KeptResponse | undefined,
  ): Promise<AnswerOf<N>> => {
    const model = made?.slug === undefined ? undefined : `@${made.slug}/${made.model}`;
    return runWhole(pipeline, call, name, request, model, made && ((routing) => routedTo(made, routing)));
  };

  return {
    async createResponse(request: CreateResponseRequest, call: Call): Promise<ModelResponse> {
      const plain = await resolved(kept, call, request);
      const { made } = plain;
      const way = made && ((routing: Parameters<typeof routedTo>[1]) => routedTo(made, routing));
      const answer = await runWhole(pipeline, call, 'responses', plain.request, plain.request.model, way);
      const keeper = new Keeper(kept, pipeline, call, plain);
      const told = plain.before.length === 0 ? answer : following(answer, request.previousResponseId ?? '');
      if (keeper.isAsked) await keeper.keep(jsonOf(codec, ModelResponseSchema, told));
      return told;
    },

    async streamResponse(request: CreateResponseRequest, call: Call): Promise<AsyncIterable<ResponseEvent>> {
      const plain = await resolved(kept, call, request);
      const { made } = plain;
      const way = made && ((routing: Parameters<typeof routedTo>[1]) => routedTo(made, routing));
      const events = await runStream(pipeline, call, 'responses', plain.request, plain.request.model, way);
      const previous = plain.before.length === 0 ? undefined : request.previousResponseId;
      return toldEvents(events, new Keeper(kept, pipeline, call, plain), previous);
    },

    async getResponse(request: GetResponseRequest, call: Call): Promise<ModelResponse> {
      const found = await keptOf(kept, call, request.responseId);
      if (found?.whole !== undefined) return messageOf(codec, found.whole.response);
      return atMaker(call, 'getResponse', request, found);
    },

    async deleteResponse(request: DeleteResponseRequest, call: Call): Promise<DeletedResponse> {
      const { responseId: id } = request;
      const found = await keptOf(kept, call, id);
      const deleted = (): DeletedResponse =>
        codec.decode(DeletedResponseSchema, { id, object: 'response', deleted: true });
      const answer =
        found?.whole === undefined ? await atMaker(call, 'deleteResponse', request, found) : deleted();
      if (found !== undefined) await kept.remove(ownerOf(call), id);
      return answer;
    },

    async cancelResponse(request: CancelResponseRequest, call: Call): Promise<ModelResponse> {
      const found = await keptOf(kept, call, request.responseId);
      if (found?.whole !== undefined)
        throw invalidField('response_id', 'names a response that is not made in the background');
      return atMaker(call, 'cancelResponse', request, found);
    },

    async listInputItems(request: ListInputItemsRequest, call: Call): Promise<InputItemList> {
      const found = await keptOf(kept, call, request.responseId);
      if (found?.whole !== undefined) return inputItems(found.whole.input, request);
      return atMaker(call, 'inputItems', request, found);
    },

    async compactResponse(request: CompactResponseRequest, call: Call) {
      const plain = await resolved(kept, call, request);
      const { made } = plain;
      const way = made && ((routing: Parameters<typeof routedTo>[1]) => routedTo(made, routing));
      return runWhole(pipeline, call, 'compactResponse', plain.request, plain.request.model, way);
    },
  };
}

function following(answer: ModelResponse, previous: string): ModelResponse {
  const response = jsonOf(codec, ModelResponseSchema, answer);
  return messageOf(codec, { ...response, previous_response_id: previous });
}
