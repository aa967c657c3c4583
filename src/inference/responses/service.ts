// Responses: native where the provider publishes them, else over its chat; what providers do not keep is kept here.
import type { JsonObject, Message } from '@bufbuild/protobuf';
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
import { eventMessage } from '../../providers/forms/responses/pieces.ts';
import type { AnswerOf, OperationName, RequestOf } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import type { SettleDeps } from '../batches/settle-output.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { type Narrowed, runStream, runWhole } from '../pipeline/run.ts';
import { begun, isOwn } from './background.ts';
import { isOver, type Run } from './background-run.ts';
import type { BackgroundRuns } from './background-runs.ts';
import { inputItems } from './input-items.ts';
import { Keeper } from './keep.ts';
import { goesOn, keptEvents } from './kept-events.ts';
import type { KeptResponse, KeptResponses } from './kept-responses.ts';
import { routedTo } from './made-by.ts';
import { PaidLater } from './paid-later.ts';
import { keptOf, ownerOf, type Resolved, resolved } from './resolve.ts';
import { checkResponse } from './rules.ts';
import { toldEvents } from './told-events.ts';
import { isWarmUp, warmedUp, warmUpOf, withoutGenerate } from './warm-up.ts';

/** The methods of ResponsesService. */
export function responsesService(
  pipeline: Pipeline,
  kept: KeptResponses,
  runs: BackgroundRuns,
  settling: SettleDeps,
) {
  const room = { pipeline, kept, runs, later: new PaidLater(pipeline, settling) };
  return { ...madeResponses(room), ...keptResponses(room) };
}

/** The service's own parts. */
interface ResponsesRoom {
  readonly pipeline: Pipeline;
  readonly kept: KeptResponses;
  readonly runs: BackgroundRuns;
  readonly later: PaidLater;
}

/** The methods that make responses. */
function madeResponses({ pipeline, kept, runs, later }: ResponsesRoom) {
  const streamed = ({ request, made }: Resolved<CreateResponseRequest>, call: Call) =>
    runStream(pipeline, call, 'responses', request, request.model, wayTo(made));

  /** The events of one that the gateway makes in the background. */
  const made = (plain: Resolved<CreateResponseRequest>, call: Call) => {
    const request = { ...plain.request, background: undefined, stream: true };
    return () => streamed({ ...plain, request }, call);
  };

  /** Its call is answered at once. */
  const inBackground = async <Answer extends Message>(
    plain: Resolved<CreateResponseRequest>,
    call: Call,
    previous: string | undefined,
    answerOf: (run: Run) => Answer | AsyncIterable<Answer>,
  ): Promise<Run> => {
    const run = await begun(runs, call, plain, previous);
    call.detach?.(answerOf(run));
    await runs.finish(run, call, made(plain, call));
    return run;
  };

  return {
    async createResponse(asked: CreateResponseRequest, call: Call): Promise<ModelResponse> {
      checkResponse(asked);
      isWarmUp(asked, call);
      const request = withoutGenerate(asked);
      const plain = await resolved(kept, runs, call, request);
      const again = runs.runOf(call);
      if (again !== undefined) {
        await again.make(call, made(plain, call));
        return asMessage(again);
      }
      if (call.detach !== undefined && (await isOwn(pipeline, call, request)))
        return asMessage(await inBackground(plain, call, request.previousResponseId, asMessage));
      const answer = await runWhole(
        pipeline,
        call,
        'responses',
        plain.request,
        plain.request.model,
        wayTo(plain.made),
      );
      if (request.background === true) await later.begun(call, plain.request.model, answer);
      const keeper = new Keeper(kept, pipeline, call, plain);
      const told = plain.before.length === 0 ? answer : following(answer, request.previousResponseId ?? '');
      await keeper.keepWhole(told);
      return told;
    },

    async streamResponse(asked: CreateResponseRequest, call: Call): Promise<AsyncIterable<ResponseEvent>> {
      checkResponse(asked);
      if (isWarmUp(asked, call)) return warmedUp(asked, call);
      const request = withoutGenerate(asked);
      const plain = await resolved(kept, runs, call, request);
      if (call.detach !== undefined && (await isOwn(pipeline, call, request)))
        return asEvents(await inBackground(plain, call, request.previousResponseId, asEvents));
      const own = await streamed(plain, call);
      const isLater = request.background === true;
      const events = isLater ? later.making(own, call, plain.request.model) : own;
      const isReplaced = plain.before.length > 0 || warmUpOf(call, request.previousResponseId) !== undefined;
      const previous = isReplaced ? request.previousResponseId : undefined;
      return toldEvents(events, new Keeper(kept, pipeline, call, plain), previous);
    },

    async compactResponse(request: CompactResponseRequest, call: Call) {
      const plain = await resolved(kept, runs, call, request);
      return runWhole(
        pipeline,
        call,
        'compactResponse',
        plain.request,
        plain.request.model,
        wayTo(plain.made),
      );
    },
  };
}

/** The methods of responses that are there. */
function keptResponses({ pipeline, kept, runs, later }: ResponsesRoom) {
  /** Asks the provider that made the response. */
  const atMaker = <N extends OperationName>(
    call: Call,
    name: N,
    request: RequestOf<N>,
    made: KeptResponse | undefined,
  ): Promise<AnswerOf<N>> => runWhole(pipeline, call, name, request, modelAt(made), wayTo(made));

  /** A kept response as it is now. @throws GatewayError not_found */
  const found = async (call: Call, id: string): Promise<KeptResponse | undefined> => {
    const known = await keptOf(kept, call, id);
    return known && runs.settled(ownerOf(call), id, known);
  };

  return {
    async getResponse(request: GetResponseRequest, call: Call): Promise<ModelResponse> {
      const known = await found(call, request.responseId);
      if (known?.whole !== undefined) return messageOf(codec, known.whole.response);
      return later.read(call, known, await atMaker(call, 'getResponse', request, known));
    },

    async streamKeptResponse(request: GetResponseRequest, call: Call): Promise<AsyncIterable<ResponseEvent>> {
      const { responseId: id, startingAfter } = request;
      const known = await found(call, id);
      const after = startingAfter === undefined ? undefined : Number(startingAfter);
      if (known?.whole !== undefined) return keptEvents({ kept, runs }, call, id, known, after);
      const events = await runStream(pipeline, call, 'getResponse', request, modelAt(known), wayTo(known));
      return later.reading(events, call, known);
    },

    async deleteResponse(request: DeleteResponseRequest, call: Call): Promise<DeletedResponse> {
      const { responseId: id } = request;
      const known = await found(call, id);
      const deleted = (): DeletedResponse =>
        codec.decode(DeletedResponseSchema, { id, object: 'response', deleted: true });
      if (known?.whole !== undefined && !isOver(known.whole.response))
        await runs.cancel(ownerOf(call), id, known);
      const answer =
        known?.whole === undefined ? await atMaker(call, 'deleteResponse', request, known) : deleted();
      if (known !== undefined) await kept.remove(ownerOf(call), id);
      return answer;
    },

    async cancelResponse(request: CancelResponseRequest, call: Call): Promise<ModelResponse> {
      const { responseId: id } = request;
      const known = await found(call, id);
      if (known?.whole === undefined)
        return later.read(call, known, await atMaker(call, 'cancelResponse', request, known));
      const { response } = known.whole;
      if (response.background !== true)
        throw invalidField('response_id', 'names a response that is not made in the background');
      if (isOver(response)) return messageOf(codec, response);
      const { whole = known.whole } = await runs.cancel(ownerOf(call), id, known);
      return messageOf(codec, whole.response);
    },

    async listInputItems(request: ListInputItemsRequest, call: Call): Promise<InputItemList> {
      const found = await keptOf(kept, call, request.responseId);
      if (found?.whole !== undefined) return inputItems(found.whole.input, request);
      return atMaker(call, 'inputItems', request, found);
    },
  };
}

/** The way to whom made a response; undefined: anyone's. */
function wayTo(made: KeptResponse | undefined): Narrowed | undefined {
  return made && ((routing) => routedTo(made, routing));
}

function modelAt(made: KeptResponse | undefined): string | undefined {
  return made?.slug === undefined ? undefined : `@${made.slug}/${made.model}`;
}

function asMessage(run: Run): ModelResponse {
  return messageOf(codec, run.response);
}

/** @throws GatewayError overloaded when this process does not make it any more */
async function* asEvents(run: Run): AsyncGenerator<ResponseEvent, void> {
  for await (const text of run.log.read()) yield eventMessage(codec, JSON.parse(text) as JsonObject);
  if (run.isGone) throw goesOn(run.of.id);
}

function following(answer: ModelResponse, previous: string): ModelResponse {
  const response = jsonOf(codec, ModelResponseSchema, answer);
  return messageOf(codec, { ...response, previous_response_id: previous });
}
