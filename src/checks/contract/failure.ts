// Why a check could not judge, and which of it a caller can bring about.

/** Why a check could not judge. Its message goes to the caller. */
export class CheckFailure extends Error {
  constructor(name: CheckFailureName, message: string) {
    super(message);
    this.name = name;
  }
}

/** What can keep a check from judging. */
export type CheckFailureName =
  | 'TimeoutError'
  | 'InputTooLongError'
  | 'InvalidPatternError'
  | 'InvalidSchemaError'
  | 'UnreadableInputError'
  | 'CallFailedError'
  | 'InvalidResponseError'
  | 'OverloadedError'
  | 'CheckError';

const OF_CALLERS: ReadonlySet<string> = new Set<CheckFailureName>([
  'TimeoutError',
  'InputTooLongError',
  'UnreadableInputError',
  'OverloadedError',
  'CheckError',
]);

/** Whether a caller can bring a failure about by what is sent: too much text, or text that takes too long. */
export function isOfCaller({ name }: CheckFailure): boolean {
  return OF_CALLERS.has(name);
}
