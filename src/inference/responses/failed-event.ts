// The event that ends a response which breaks.
import type { JsonObject } from '@bufbuild/protobuf';
import { type ResponseEvent, ResponseEventSchema } from '../../../gen/gateway/inference/v2/responses_pb.ts';
import type { GatewayError } from '../../lib/errors.ts';
import { jsonOf } from '../../providers/forms/json-of.ts';
import { eventMessage } from '../../providers/forms/responses/pieces.ts';
import { isObject } from '../../providers/json-object.ts';
import { codec } from '../../rest/codec.ts';

/** The last event of a response that could not be made to its end. @param first of its events */
export function failedEvent(first: ResponseEvent, last: ResponseEvent, error: GatewayError): ResponseEvent {
  const response = jsonOf(codec, ResponseEventSchema, first).response;
  const { code, members } = error.details;
  return eventMessage(codec, {
    type: 'response.failed',
    sequence_number: Number(last.sequenceNumber ?? 0n) + 1,
    response: {
      ...(isObject(response) ? response : {}),
      status: 'failed',
      error: {
        code: error.status === 429 ? 'rate_limit_exceeded' : (code ?? own(error)),
        message: error.message,
        ...(members as JsonObject | undefined),
      },
    },
  });
}

function own({ reason }: GatewayError): string {
  return reason.startsWith('upstream_') || reason === 'internal' ? 'server_error' : reason;
}
