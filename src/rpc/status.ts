// A GatewayError as a gRPC or Connect status with its typed detail.
import { create, type JsonObject } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { type ErrorDetail, ErrorDetailSchema } from '../../gen/gateway/common/v2/error_pb.ts';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import type { GatewayError } from '../lib/errors.ts';

/** The typed detail of an error. */
export function errorDetail(error: GatewayError, plane: Plane, requestId: string): ErrorDetail {
  const { details } = error;
  return create(ErrorDetailSchema, {
    reason: error.reason,
    httpStatus: error.status,
    errorCode: plane === Plane.CONTROL ? error.abCode : '',
    param: details.param ?? '',
    provider: details.provider ?? '',
    type: error.type,
    code: details.code ?? '',
    retryAfterMs: BigInt(Math.ceil(details.retryAfterMs ?? 0)),
    violations: [...(details.violations ?? [])],
    requestId,
    ...(details.members === undefined ? {} : { members: details.members as JsonObject }),
  });
}

/** The status that gRPC and Connect clients see. */
export function toConnectError(
  error: GatewayError,
  plane: Plane,
  requestId: string,
  metadata: Iterable<readonly [string, string]>,
): ConnectError {
  const detail = { desc: ErrorDetailSchema, value: errorDetail(error, plane, requestId) };
  const connectError = new ConnectError(error.message, error.code, undefined, [detail], error);
  for (const [name, value] of metadata) connectError.metadata.set(name, value);
  if (error.details.retryAfterMs !== undefined) {
    connectError.metadata.set('retry-after', String(Math.ceil(error.details.retryAfterMs / 1000)));
  }
  return connectError;
}
