// What a target's config changes in the request, before the provider's dialect writes it.
import type { Message } from '@bufbuild/protobuf';
import { attachRawJson, rawValueOf } from '../../lib/raw-json.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import { codec } from '../../rest/codec.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { applyParams, joinParams } from '../plan/params.ts';

/** The request's body as JSON; undefined where the operation has none. Not to be changed. */
export function jsonOf(name: OperationName, request: object): Record<string, unknown> | undefined {
  const { request: schema, hasBody } = operationRow(name);
  if (!hasBody) return undefined;
  return (rawValueOf(request) ?? codec.encode(schema, request as Message)) as Record<string, unknown>;
}

/** A message of the operation with this JSON, which is sent on as it is where the provider speaks so. @throws GatewayError validation_failed */
export function requestOf<Request extends object>(name: OperationName, json: object): Request {
  const message = codec.decodeRequest(operationRow(name).request, json);
  return attachRawJson(message, JSON.stringify(json)) as unknown as Request;
}

/**
 * The request as the target's config wants it: the same one where it wants nothing.
 * @throws GatewayError validation_failed when it is no request any more
 */
export function rewritten<Request extends object>(
  name: OperationName,
  request: Request,
  { plan, model }: BoundTarget,
): Request {
  const rules = model === undefined ? plan.params : joinParams(plan.params, undefined, { model }, []);
  const given = rules && jsonOf(name, request);
  if (rules === undefined || given === undefined) return request;
  const json = applyParams(rules, given);
  // Whether the answer comes in pieces was decided with the call.
  if (Object.hasOwn(given, 'stream')) json.stream = given.stream;
  else delete json.stream;
  return requestOf<Request>(name, json);
}
