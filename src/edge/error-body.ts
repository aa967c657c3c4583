// Errors as REST bodies: two shapes by plane, both with the OpenAI-style object that
// every SDK reads (house.md, part 7).
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import type { GatewayError } from '../lib/errors.ts';

/**
 * The body of an error answer, or of the error event inside a stream.
 * @param aliased for a caller under an alias prefix: its family's SDKs read the text of an error from
 *   `message`, which the control plane's shape does not have
 */
export function errorBody(error: GatewayError, plane: Plane, aliased = false): Record<string, unknown> {
  const { details } = error;
  const common = {
    error: {
      message: error.message,
      type: error.type,
      param: details.param ?? null,
      code: details.code ?? error.reason,
    },
    ...(details.provider === undefined ? {} : { provider: details.provider }),
    ...(details.violations === undefined ? {} : { errors: details.violations }),
    ...details.members,
  };
  return plane === Plane.CONTROL
    ? {
        success: false,
        data: { message: error.message, errorCode: error.abCode },
        ...(aliased ? { message: error.message } : {}),
        ...common,
      }
    : { status: 'failure', message: error.message, ...common };
}
