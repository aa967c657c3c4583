// Secrets of realtime sessions (OpenAI API reference, "Client secrets"): POST /realtime/client_secrets and its older forms.
import {
  type CreateRealtimeSecretRequest,
  CreateRealtimeSecretRequestSchema,
  type RealtimeSecret,
  RealtimeSecretSchema,
} from '../../../../gen/gateway/inference/v2/realtime_pb.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { mediaUsage } from '../../usage/media.ts';
import { wholeCall } from './request.ts';
import { readWhole } from './response.ts';

/** The operation over the given JSON. @param path of the provider */
export function realtimeSecret(
  json: MessageJson,
  path: string,
): Operation<CreateRealtimeSecretRequest, RealtimeSecret> {
  return {
    request: (request, { target }) =>
      wholeCall(path, json, CreateRealtimeSecretRequestSchema, request, target.provider),
    // A secret costs nothing: what is said with it does.
    response: (body, _request, context) => ({
      ...readWhole(json, RealtimeSecretSchema, body, context),
      usage: mediaUsage({}),
    }),
  };
}
