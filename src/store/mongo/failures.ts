// The driver's errors as the port's: its text goes to the log, never to a caller.
import mongoose from 'mongoose';
import { fail, GatewayError } from '../../lib/errors.ts';
import { fieldOfColumn } from './columns.ts';

const { MongoBulkWriteError, MongoError, MongoInvalidArgumentError, MongoServerError } = mongoose.mongo;

export const DUPLICATE_KEY = 11_000;
const WRITE_CONFLICT = 112;
/** A command took longer than it was given. A commit is not to be tried again at once. */
const TIME_EXCEEDED = 50;
/** Of the server, for a command that is wrong in itself (BadValue, FailedToParse, TypeMismatch): our mistake. */
const OUR_MISTAKE = new Set<unknown>([2, 9, 14]);
/** ECONNRESET, EPIPE, ERR_STREAM_DESTROYED and the like. */
const OF_SOCKET = /^(?:E[A-Z]+|ERR_(?:STREAM|SOCKET)_\w+)$/;
/** Members of every unique index that no caller needs to hear of. */
const HIDDEN = new Set(['organisationId', 'workspaceId']);

/** What the caller shall learn: `conflict` naming the fields, `store_unavailable`, or `internal` for our mistakes. */
export function failureOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  if (isDuplicateKey(error)) return conflictOf(error);
  if (isOfStore(error)) return fail('store_unavailable', 'the store is not available', { cause: error });
  return fail('internal', 'the gateway failed to answer this request', { cause: error });
}

/** A value of a unique index is taken. */
export function isDuplicateKey(error: unknown): error is mongoose.mongo.MongoError {
  return error instanceof MongoError && error.code === DUPLICATE_KEY;
}

/** Of several writes at once: every refused write was refused for this reason alone. */
export function areDuplicateKeys(error: unknown): boolean {
  if (!(error instanceof MongoBulkWriteError)) return isDuplicateKey(error);
  const errors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  return errors.every(({ code }) => code === DUPLICATE_KEY);
}

/** Nothing was written, and the whole may be tried again: a lost race, an election, a broken connection. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof MongoError &&
    (error.hasErrorLabel('TransientTransactionError') || error.code === WRITE_CONFLICT)
  );
}

/** One write lost a race against a transaction and was not made. */
export function isWriteConflict(error: unknown): boolean {
  return error instanceof MongoError && error.code === WRITE_CONFLICT;
}

/** A command named an index that is not there. */
export function isIndexMissing(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === 2 && /hint/i.test(error.message);
}

/** The server gave up a command that took longer than it was given. */
export function isOutOfTime(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === TIME_EXCEEDED;
}

/** Whether it is unknown that the transaction was committed: only asking again tells. */
export function isCommitUnknown(error: unknown): boolean {
  return (
    error instanceof MongoError &&
    error.hasErrorLabel('UnknownTransactionCommitResult') &&
    error.code !== TIME_EXCEEDED
  );
}

function isOfStore(error: unknown): boolean {
  if (error instanceof MongoServerError) return !OUR_MISTAKE.has(error.code);
  if (error instanceof MongoError) return !(error instanceof MongoInvalidArgumentError);
  // A write into a connection that just broke comes through the driver as the socket's own error.
  if (error instanceof Error && 'code' in error && OF_SOCKET.test(String(error.code))) return true;
  // Mongoose has a class for each of our mistakes; what is of the bare class is a connection that is not there.
  if (!(error instanceof mongoose.Error)) return false;
  return error.constructor === mongoose.Error || error instanceof mongoose.Error.MongooseServerSelectionError;
}

/** A broken unique index as a conflict that names the fields, in the index's order. */
function conflictOf(error: mongoose.mongo.MongoError): GatewayError {
  const pattern = error instanceof MongoServerError ? (error.keyPattern as unknown) : undefined;
  const members = typeof pattern === 'object' && pattern !== null ? Object.keys(pattern) : [];
  const fields = members.filter((member) => !HIDDEN.has(member)).map(fieldOfColumn);
  const what = fields.length === 0 ? 'value' : fields.join(' and ');
  return fail('conflict', `there is a document with this ${what} already`, {
    violations: fields.map((field) => ({ field, rule: 'unique', message: 'is taken' })),
    ...(fields[0] === undefined ? {} : { param: fields[0] }),
    cause: error,
  });
}
