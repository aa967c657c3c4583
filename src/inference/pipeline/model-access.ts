// Whether a stored provider's integration lets a model through: judged on the very model that is asked for, after
// everything that may have changed it.

import { fail } from '../../lib/errors.ts';
import { theNearest } from '../../lib/nearest-names.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { clip } from '../plan/faults.ts';

/** Reading what models there are calls none of them. @throws GatewayError forbidden naming the model */
export function checkModel({ stored }: BoundTarget, name: OperationName, model: string): void {
  if (stored?.models?.restricted !== true || !operationRow(name).hasBody) return;
  const asked = stored.model ?? model;
  if (stored.models.allows(asked)) return;
  throw fail(
    'forbidden',
    `model: ${asked === '' ? 'must be named, for' : `${clip(asked)} is not allowed by`} the integration of this stored provider${theNearest(asked, stored.models.named ?? [])}`,
    { param: 'model' },
  );
}
