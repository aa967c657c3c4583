// An error as the last frame of one of AWS's event streams.
import { awsEventFrame } from '../lib/aws-event-frame.ts';
import type { GatewayError } from '../lib/errors.ts';
import { type ErrorShape, errorBody } from './error-body.ts';
import { exceptionName } from './native-errors.ts';

/** Exceptions that Bedrock's streams have; any other one is none that AWS's clients would tell by its name. */
const STREAMED: ReadonlySet<string> = new Set([
  ...['ValidationException', 'ThrottlingException', 'InternalServerException', 'ServiceUnavailableException'],
  ...['ModelStreamErrorException', 'ModelTimeoutException'],
]);

/** The frame of an exception. */
export function exceptionFrame(error: GatewayError, shape: ErrorShape): Buffer {
  const name = exceptionName(error);
  const known = STREAMED.has(name)
    ? name
    : error.status < 500
      ? 'ValidationException'
      : 'ModelStreamErrorException';
  const type = known[0]!.toLowerCase() + known.slice(1);
  return awsEventFrame(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify(errorBody(error, shape)),
  );
}
