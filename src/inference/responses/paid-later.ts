// Responses that a provider makes in the background: their calls end before anything is used. Who asked is noted, and the
// response comes into that caller's books, once, when its end is first read through the gateway.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type ModelResponse,
  ModelResponseSchema,
  type ResponseEvent,
  ResponseEventSchema,
} from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { jsonOf } from '../../providers/forms/json-of.ts';
import { responseUsage } from '../../providers/forms/responses/native.ts';
import { objectOf, textOf } from '../../providers/json-object.ts';
import { codec } from '../../rest/codec.ts';
import { BookedOnce } from '../batches/booked-once.ts';
import type { SettleDeps } from '../batches/settle-output.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { planOf } from '../plan/select.ts';
import { isOver } from './background-run.ts';
import type { KeptResponse } from './kept-responses.ts';
import { makerOf, routedTo } from './made-by.ts';

const ENDPOINT = '/v1/responses';
/** Of ends that are no answer. */
const STATUSES: Readonly<Record<string, number>> = Object.freeze({ failed: 502, cancelled: 499 });

type Maker = Omit<KeptResponse, 'whole'>;

/** The books of such responses. */
export class PaidLater {
  readonly #pipeline: Pipeline;
  readonly #settling: SettleDeps;
  readonly #once: BookedOnce;

  constructor(pipeline: Pipeline, settling: SettleDeps) {
    this.#pipeline = pipeline;
    this.#settling = settling;
    this.#once = new BookedOnce(settling);
  }

  /** The answer to one that was asked for. Its call used nothing that is not counted later. @throws GatewayError store_unavailable */
  async begun(call: Call, model: string | undefined, answer: ModelResponse): Promise<void> {
    const { id, status } = jsonOf(codec, ModelResponseSchema, answer);
    if (isOver({ status: status ?? null })) return;
    await this.#note(call, model, String(id));
    call.record.unreported.length = 0;
  }

  /** A stream of one that is asked for: where it comes to its end, its own call counts. */
  async *making(
    events: AsyncIterable<ResponseEvent>,
    call: Call,
    model: string | undefined,
  ): AsyncGenerator<ResponseEvent> {
    for await (const event of events) {
      const response = responseIn(event);
      if (event.type === 'response.created' && response !== undefined)
        await this.#note(call, model, String(response.id));
      else if (response !== undefined && isOver(response)) {
        const bound = await this.#boundOf(call, model, makerOf(call));
        if (bound !== undefined) await this.#once.done(call, bound, 'response', String(response.id));
      }
      yield event;
    }
  }

  /** One that is read or was stopped. @throws GatewayError store_unavailable */
  async read(call: Call, made: Maker | undefined, answer: ModelResponse): Promise<ModelResponse> {
    await this.#ended(call, made, jsonOf(codec, ModelResponseSchema, answer));
    return answer;
  }

  /** The events of one that are read: its end goes out once it is booked. */
  async *reading(
    events: AsyncIterable<ResponseEvent>,
    call: Call,
    made: Maker | undefined,
  ): AsyncGenerator<ResponseEvent> {
    for await (const event of events) {
      const response = responseIn(event);
      if (response !== undefined) await this.#ended(call, made, response);
      yield event;
    }
  }

  async #note(call: Call, model: string | undefined, id: string): Promise<void> {
    const bound = await this.#boundOf(call, model, makerOf(call));
    if (bound !== undefined) await this.#settling.notes.response(call, bound, id);
  }

  async #ended(call: Call, made: Maker | undefined, response: JsonObject): Promise<void> {
    const { id, status, model, service_tier: tier } = response;
    if (response.background !== true || isOver(response) === false) return;
    const named = made?.slug === undefined ? undefined : `@${made.slug}/${made.model}`;
    const bound = await this.#boundOf(call, named, made);
    if (bound === undefined) return;
    const answered = textOf(model) ?? '';
    const row = {
      customId: String(id),
      status: STATUSES[String(status)] ?? 200,
      model: answered,
      usage: responseUsage(codec, response, bound.target.provider),
    };
    await this.#once.book(call, bound, 'response', String(id), (note) => ({
      endpoint: ENDPOINT,
      model: note.model ?? answered,
      plain: { tier: textOf(tier) },
      row,
    }));
  }

  /** The target that makes it; undefined: the call has several, and it is not known which. */
  async #boundOf(
    call: Call,
    model: string | undefined,
    made: Maker | undefined,
  ): Promise<BoundTarget | undefined> {
    const whole = await planOf(call, this.#pipeline.planner, model);
    const { plan, bind } = made === undefined ? whole : routedTo(made, whole);
    return plan.targets.length === 1 ? bind(plan.targets[0]!) : undefined;
  }
}

function responseIn(event: ResponseEvent): JsonObject | undefined {
  if (event.type.endsWith('.delta')) return undefined;
  return objectOf(jsonOf(codec, ResponseEventSchema, event).response);
}
