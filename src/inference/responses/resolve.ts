// A request that goes on from earlier responses: what the gateway keeps of them is put in the place of their names.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CompactResponseRequest,
  type CreateResponseRequest,
  type ResponseInput,
  ResponseInputSchema,
} from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { Call } from '../../call/call.ts';
import { fail, type GatewayError, invalidField } from '../../lib/errors.ts';
import { arrayOf, isObject } from '../../providers/json-object.ts';
import { codec } from '../../rest/codec.ts';
import { isOver } from './background-run.ts';
import type { BackgroundRuns } from './background-runs.ts';
import { itemAt, placeOfItem } from './item-ids.ts';
import type { KeptResponse, KeptResponses } from './kept-responses.ts';
import { plainItems } from './plain-items.ts';
import { warmUpOf } from './warm-up.ts';

/** A request whose names of earlier things are resolved. */
export interface Resolved<Request> {
  readonly request: Request;
  /** Who made the response that it goes on from, where that keeps it. */
  readonly made: KeptResponse | undefined;
  /** Items that came with the responses before. */
  readonly before: readonly JsonObject[];
}

type Following = CreateResponseRequest | CompactResponseRequest;

/**
 * @param runs what is made in the background
 * @throws GatewayError not_found for a response that the caller's workspace does not have
 */
export async function resolved<Request extends Following>(
  kept: KeptResponses,
  runs: Pick<BackgroundRuns, 'settled'>,
  call: Call,
  asked: Request,
): Promise<Resolved<Request>> {
  const request = afterWarmUp(call, asked);
  const { previousResponseId: id } = request;
  if (id === undefined && !hasReferences(request.input)) return { request, made: undefined, before: [] };
  const previous = id === undefined ? undefined : await currentOf(kept, runs, call, id);
  const own = await itemsOf(kept, call, request.input);
  if (previous?.whole === undefined) {
    const same = own === undefined ? request : withInput(request, own);
    return { request: same, made: previous, before: [] };
  }
  const { input, response } = previous.whole;
  if (!isOver(response)) throw invalidField('previous_response_id', 'names a response that is not over yet');
  const before = [...input, ...arrayOf(response.output).filter(isObject)];
  const items = [...before, ...(own ?? plainItems(request.input))];
  return {
    request: { ...withInput(request, items), previousResponseId: undefined },
    made: undefined,
    before,
  };
}

/** A request that goes on from one that was sent ahead, as one that was sent at once. */
function afterWarmUp<Request extends Following>(call: Call, request: Request): Request {
  const ahead = warmUpOf(call, request.previousResponseId);
  if (ahead === undefined) return request;
  const whole = withInput(request, [...ahead.items, ...plainItems(request.input)]);
  return { ...whole, previousResponseId: ahead.previous };
}

/** As it is now: the end of one that is made in the background is told before it is kept. */
async function currentOf(
  kept: KeptResponses,
  runs: Pick<BackgroundRuns, 'settled'>,
  call: Call,
  id: string,
): Promise<KeptResponse | undefined> {
  const found = await keptOf(kept, call, id);
  if (found?.whole === undefined || isOver(found.whole.response)) return found;
  return runs.settled(ownerOf(call), id, found);
}

/**
 * A response that the caller names. One that is unknown may be one that the caller made with a credential of its own.
 * @throws GatewayError not_found
 */
export async function keptOf(kept: KeptResponses, call: Call, id: string): Promise<KeptResponse | undefined> {
  const found = (call.earlier?.get(id) as KeptResponse | undefined) ?? (await kept.get(ownerOf(call), id));
  if (found === undefined && call.providerCredential === undefined) throw unknownResponse(id);
  return found;
}

/** @throws GatewayError not_found */
export function unknownResponse(id: string): GatewayError {
  return fail(
    'not_found',
    `there is no response ${id.slice(0, 128)} here: it was not stored, or it has expired`,
    {
      param: 'response_id',
      code: 'response_not_found',
    },
  );
}

export function ownerOf({ principal }: Call): { organisationId: string; workspaceId: string | undefined } {
  return { organisationId: principal?.organisationId ?? '', workspaceId: principal?.workspaceId };
}

function hasReferences(input: ResponseInput | undefined): boolean {
  return (
    input?.kind.case === 'items' && input.kind.value.values.some(({ type }) => type === 'item_reference')
  );
}

/** The items with references put right; undefined: there are none. Those of providers' own items stay. */
async function itemsOf(
  kept: KeptResponses,
  call: Call,
  input: ResponseInput | undefined,
): Promise<JsonObject[] | undefined> {
  if (!hasReferences(input)) return undefined;
  const known = new Map<string, KeptResponse | undefined>();
  const items: JsonObject[] = [];
  for (const item of plainItems(input)) {
    const place = item.type === 'item_reference' ? placeOfItem(String(item.id)) : undefined;
    if (place === undefined) {
      items.push(item);
      continue;
    }
    if (!known.has(place.response)) known.set(place.response, await kept.get(ownerOf(call), place.response));
    const whole = known.get(place.response)?.whole;
    items.push((whole && itemAt(whole, place.place)) ?? item);
  }
  return items;
}

function withInput<Request extends Following>(request: Request, items: readonly JsonObject[]): Request {
  return { ...request, input: codec.decode(ResponseInputSchema, items) };
}
