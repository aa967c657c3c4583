// Unique values that are taken, reported in the words of the request: the store knows its own fields only.
import { fail, GatewayError } from '../../lib/errors.ts';
import { failedOperation } from '../../store/documents.ts';

/** The taken value, as the caller named it. */
export interface Taken {
  readonly field: string;
  readonly message: string;
}

/**
 * Runs a commit.
 * @param taken the answer for an operation of the commit whose unique value is taken; undefined: the store's own
 * @throws GatewayError conflict naming the request's field; the commit's error.
 */
export async function tellingTaken<T>(
  commit: () => Promise<T>,
  taken: (operation: number) => Taken | undefined,
): Promise<T> {
  try {
    return await commit();
  } catch (error) {
    const place = failedOperation(error);
    if (!(error instanceof GatewayError) || error.reason !== 'conflict' || place === undefined) throw error;
    const told = taken(place);
    if (told === undefined) throw error;
    const { field, message } = told;
    throw fail('conflict', `${field}: ${message}`, {
      param: field,
      violations: [{ field, rule: 'unique', message }],
    });
  }
}
