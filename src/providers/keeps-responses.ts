// Which operations of the Responses API a service has that keeps responses itself.
import type { OperationName } from './operations.ts';

/** All of them. */
export const KEEPS_RESPONSES: readonly OperationName[] = [
  'responses',
  'compactResponse',
  'getResponse',
  'deleteResponse',
  'cancelResponse',
  'inputItems',
];
