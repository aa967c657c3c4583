// The default config of a key's calls must exist when the key is given it.

import type { TenantScope } from '../../call/scope.ts';
import { configs } from '../../configs/config-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import type { DocumentStore } from '../../store/documents.ts';

/**
 * @param scope the key's workspace; its organisation for keys of the organisation
 * @param named the request's value; undefined: none
 * @throws GatewayError validation_failed when it names no config of the key's.
 */
export async function checkKeyConfig(
  documents: DocumentStore,
  scope: TenantScope,
  named: string | undefined,
): Promise<void> {
  if (named !== undefined && (await documents.get(scope, configs, named)) === undefined)
    throw invalidField('defaults.config_id', "names no config of the key's workspace");
}
