// Whether a stored provider's integration lets a model through: judged on the very model that is asked for, after
// everything that may have changed it.

import { fail } from '../../lib/errors.ts';
import { theNearest } from '../../lib/nearest-names.ts';
import { parsedObject } from '../../providers/json-object.ts';
import { type OperationName, operationRow } from '../../providers/operations.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { clip } from '../plan/faults.ts';
import { furtherModels, mayNameFurther } from '../plan/further-models.ts';

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

/** The models that a body names in addition to its own. @param body as it is sent @throws GatewayError forbidden */
export function checkFurtherModels({ stored }: BoundTarget, body: string | Uint8Array | undefined): void {
  if (stored?.models?.restricted !== true || body === undefined) return;
  const text = typeof body === 'string' ? body : isObjectBody(body) ? Buffer.from(body).toString('utf8') : '';
  const json = mayNameFurther(text) ? parsedObject(text) : undefined;
  for (const one of json === undefined ? [] : furtherModels(json)) {
    if (stored.models.allows(one)) continue;
    throw fail(
      'forbidden',
      `model: ${clip(one)} is named in the request in addition to its own and is not allowed by the integration of this stored provider`,
      { param: 'model' },
    );
  }
}

/** Forms and files begin otherwise. */
function isObjectBody(body: Uint8Array): boolean {
  return body[0] === '{'.charCodeAt(0);
}
