// A page of the items that a kept response was made from.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type InputItemList,
  InputItemListSchema,
  type ListInputItemsRequest,
} from '../../../gen/gateway/inference/v2/responses_pb.ts';
import { invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';

const USUAL = 20;

/** The newest items first, unless they are asked for in their order. @throws GatewayError validation_failed */
export function inputItems(
  all: readonly JsonObject[],
  { after, limit = USUAL, order }: ListInputItemsRequest,
): InputItemList {
  const ordered = order === 'asc' ? all : all.toReversed();
  const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && from === 0) throw invalidField('after', 'names no item of this response');
  const data = ordered.slice(from, from + limit);
  return codec.decode(InputItemListSchema, {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + data.length < ordered.length,
  });
}
