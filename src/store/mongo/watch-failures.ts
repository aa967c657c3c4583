// What a failed change stream means: go on from where it was, begin anew, or do without.
import mongoose from 'mongoose';

const { MongoServerError } = mongoose.mongo;

/** InvalidResumeToken, ChangeStreamFatalError, ChangeStreamHistoryLost: where it was is no longer known. */
const TOKEN_LOST = new Set<unknown>([260, 280, 286]);
/**
 * Of a server that steps down, shuts down, starts or is slow: HostUnreachable, HostNotFound, MaxTimeMSExpired,
 * NetworkTimeout, ShutdownInProgress, FailedToSatisfyReadPreference, PrimarySteppedDown, CursorNotFound,
 * CursorKilled, ExceededTimeLimit, SocketException, NotWritablePrimary, interrupted and NotPrimary codes.
 */
const PASSING = new Set<unknown>([
  6, 7, 43, 50, 89, 91, 133, 189, 237, 262, 9001, 10107, 11600, 11601, 11602, 13435, 13436,
]);

/** The changes since the stream broke off are no longer available. */
export function isTokenLost(error: unknown): boolean {
  return error instanceof MongoServerError && TOKEN_LOST.has(error.code);
}

/** The server has no change streams, or none for these credentials. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof MongoServerError &&
    !error.hasErrorLabel('ResumableChangeStreamError') &&
    !TOKEN_LOST.has(error.code) &&
    !PASSING.has(error.code)
  );
}
