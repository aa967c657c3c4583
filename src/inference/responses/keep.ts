// What is kept of an answer: whole where its provider keeps none, else who made it.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateResponseRequest,
  type ModelResponse,
  ModelResponseSchema,
} from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { isHeavyMessage } from '../../lib/heavy-message.ts';
import { rawJsonOf } from '../../lib/raw-json.ts';
import { jsonOf } from '../../providers/forms/json-of.ts';
import { textOf } from '../../providers/json-object.ts';
import { has } from '../../providers/offered.ts';
import { codec } from '../../rest/codec.ts';
import { MAX_KEPT_BYTES } from '../../store/kept-values.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { withIds } from './item-ids.ts';
import type { KeptResponse, KeptResponses } from './kept-responses.ts';
import { makerOf } from './made-by.ts';
import { plainItems } from './plain-items.ts';
import { ownerOf, type Resolved } from './resolve.ts';

/** Keeps the response of a call, where its request wants that. */
export class Keeper {
  readonly #kept: KeptResponses;
  readonly #pipeline: Pipeline;
  readonly #call: Call;
  readonly #resolved: Resolved<CreateResponseRequest>;

  constructor(
    kept: KeptResponses,
    pipeline: Pipeline,
    call: Call,
    resolved: Resolved<CreateResponseRequest>,
  ) {
    this.#kept = kept;
    this.#pipeline = pipeline;
    this.#call = call;
    this.#resolved = resolved;
  }

  get isAsked(): boolean {
    return this.#resolved.request.store !== false;
  }

  /** Whether the connection remembers it, which the store does not. */
  get isRemembered(): boolean {
    return !this.isAsked && this.#call.earlier !== undefined;
  }

  /** Whether the provider that answered keeps it. */
  get isElsewhere(): boolean {
    const { planner, dialects } = this.#pipeline;
    const provider = planner.deps.providerById(this.#call.record.provider);
    const dialect = provider && dialects.get(provider.dialect);
    return provider !== undefined && dialect !== undefined && has(provider, dialect, 'getResponse');
  }

  /** Notes who made it. */
  async note(id: string): Promise<void> {
    await this.#kept.put(ownerOf(this.#call), id, makerOf(this.#call));
  }

  /** Keeps an answer that came whole. */
  async keepWhole(told: ModelResponse): Promise<void> {
    if (!this.isAsked) return;
    const length = rawJsonOf(told)?.length ?? 0;
    if (length <= MAX_KEPT_BYTES && !isHeavyMessage(told))
      return this.keep(jsonOf(codec, ModelResponseSchema, told));
    if (this.isElsewhere) return this.note(told.id);
    this.#kept.tooLong();
  }

  /** Keeps the whole response. @param events that it was told by, as JSON texts */
  async keep(response: JsonObject, events: readonly string[] = []): Promise<void> {
    const id = textOf(response.id);
    if (id === undefined || !(this.isAsked || this.isRemembered)) return;
    if (this.isAsked && this.isElsewhere) return this.note(id);
    const { request, before } = this.#resolved;
    const own = withIds(plainItems(request.input).slice(before.length), id);
    const whole = { input: [...before, ...own], before: before.length, response };
    const owner = ownerOf(this.#call);
    if (this.isAsked) {
      if (events.length > 0) await this.#kept.putEvents(owner, id, 0, events);
      await this.#kept.put(owner, id, { ...makerOf(this.#call), whole });
    } else remember(this.#call.earlier, id, { ...makerOf(this.#call), whole });
  }
}

/** Only the last one: each holds its whole conversation. */
function remember(earlier: Map<string, object> | undefined, id: string, kept: KeptResponse): void {
  earlier?.clear();
  earlier?.set(id, kept);
}
