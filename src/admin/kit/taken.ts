// Unique values that are taken, told in the words of the request: the store knows its own fields only.
import { fail, GatewayError } from '../../lib/errors.ts';
import { failedOperation } from '../../store/documents.ts';

/** What is taken, as the caller named it. */
export interface Taken {
  readonly field: string;
  readonly message: string;
}

/**
 * Runs a commit.
 * @param taken what the operation at a place of the commit says when its unique value is taken; undefined: as the store says
 * @throws GatewayError conflict naming the request's field; what the commit throws.
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
