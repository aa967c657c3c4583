// Outermost: whatever is thrown leaves as a GatewayError, and what is not the
// caller's to know stays in the log.
import type { Logger } from 'pino';
import type { Call } from '../../call/call.ts';
import { tellRates } from '../../ledger/limits/rate-headers.ts';
import { type GatewayError, toGatewayError } from '../../lib/errors.ts';
import { type Interceptor, isStream, watched } from '../handler.ts';

export function errorsInterceptor(log: Logger): Interceptor {
  const seen = (thrown: unknown, call: Call): GatewayError => {
    const error = toGatewayError(thrown);
    if (error.details.rates !== undefined) tellRates(call.answerHeaders, error.details.rates);
    if (error.reason === 'internal') {
      log.error(
        {
          requestId: call.id,
          traceId: call.traceId,
          operation: call.method.name,
          err: error.cause ?? error,
        },
        'a call failed',
      );
    }
    return error;
  };
  return () => (next) => async (input, call) => {
    try {
      const output = await next(input, call);
      return isStream(output) ? watched(output, (thrown) => seen(thrown, call), ignore) : output;
    } catch (thrown) {
      throw seen(thrown, call);
    }
  };
}

function ignore(): void {}
