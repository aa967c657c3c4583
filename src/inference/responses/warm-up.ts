// `generate: false` over WebSocket: a client sends its request ahead of the turn, so that the turn itself needs only a name.
// OpenAI answers at once with a completed response without output, whose id the next request goes on from (probed by others
// at api.openai.com, 2026-09-21). Providers over HTTP know no such member and would generate, or refuse it; so the gateway
// answers, calls no provider, and puts the items in the place of the id when it is named.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateResponseRequest,
  CreateResponseRequestSchema,
  type ResponseEvent,
} from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { invalidField } from '../../lib/errors.ts';
import { randomId } from '../../lib/random-id.ts';
import { responseHead } from '../../providers/forms/responses/head.ts';
import { eventMessage } from '../../providers/forms/responses/pieces.ts';
import { codec } from '../../rest/codec.ts';
import { plainItems } from './plain-items.ts';

const NO_USAGE = {
  input_tokens: 0,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 0,
};

/** A request that was sent ahead: its connection keeps it. */
export class WarmUp {
  /** The response that it follows. */
  readonly previous: string | undefined;
  readonly items: readonly JsonObject[];

  constructor(previous: string | undefined, items: readonly JsonObject[]) {
    this.previous = previous;
    this.items = items;
  }
}

/** Whether the request is one. @throws GatewayError validation_failed where nothing could go on from it */
export function isWarmUp({ extra }: CreateResponseRequest, call: Call): boolean {
  if (extra?.generate !== false) return false;
  if (call.earlier === undefined)
    throw invalidField(
      'generate',
      'can only be false over WebSocket, where the next request goes on from it',
    );
  return true;
}

/** The request without the member, which providers over HTTP do not know. */
export function withoutGenerate(request: CreateResponseRequest): CreateResponseRequest {
  if (request.extra?.generate === undefined) return request;
  const { generate: _, ...extra } = request.extra;
  return { ...request, extra };
}

/** Remembers the request, and answers it without output. */
export function warmedUp(request: CreateResponseRequest, call: Call): AsyncIterable<ResponseEvent> {
  const id = `resp_${randomId().replaceAll('-', '')}`;
  const named = warmUpOf(call, request.previousResponseId);
  const before = named ?? new WarmUp(request.previousResponseId, []);
  const items = [...before.items, ...plainItems(request.input)];
  // One at a time: each holds all items of the one before it.
  for (const [key, value] of call.earlier ?? []) if (value instanceof WarmUp) call.earlier?.delete(key);
  call.earlier?.set(id, new WarmUp(before.previous, items));
  const now = Math.floor(Date.now() / 1000);
  const told = { ...request, input: undefined };
  const head = responseHead(codec.encode(CreateResponseRequestSchema, told) as JsonObject, id, now);
  return events(head, { ...head, status: 'completed', completed_at: now, usage: NO_USAGE });
}

/** What the connection remembers under the id. */
export function warmUpOf(call: Call, id: string | undefined): WarmUp | undefined {
  const found = id === undefined ? undefined : call.earlier?.get(id);
  return found instanceof WarmUp ? found : undefined;
}

async function* events(begun: JsonObject, response: JsonObject): AsyncGenerator<ResponseEvent, void> {
  yield eventMessage(codec, { type: 'response.created', sequence_number: 0, response: begun });
  yield eventMessage(codec, { type: 'response.completed', sequence_number: 1, response });
}
