// Moderations (OpenAI API reference, "Moderations"): POST /moderations.
import {
  type CreateModerationRequest,
  CreateModerationRequestSchema,
  type Moderation,
  ModerationSchema,
} from '../../../../gen/gateway/inference/v2/moderations_pb.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { wholeCall } from './request.ts';
import { readWhole } from './response.ts';

/** The operation over the given JSON. */
export function moderations(json: MessageJson): Operation<CreateModerationRequest, Moderation> {
  return {
    request: (request, { target }) =>
      wholeCall('/moderations', json, CreateModerationRequestSchema, request, target.provider),
    response: (body, _request, context) => readWhole(json, ModerationSchema, body, context),
  };
}
