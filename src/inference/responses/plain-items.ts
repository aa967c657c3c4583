// The input of a response as items.
import type { JsonObject } from '@bufbuild/protobuf';
import { type ResponseInput, ResponseInputSchema } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import { arrayOf, isObject } from '../../providers/json-object.ts';
import { codec } from '../../rest/codec.ts';

/** The items as JSON; a text is the user's message. */
export function plainItems(input: ResponseInput | undefined): JsonObject[] {
  if (input === undefined) return [];
  const json = codec.encode(ResponseInputSchema, input);
  if (typeof json !== 'string') return arrayOf(json as JsonObject[]).filter(isObject);
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: json }] }];
}
