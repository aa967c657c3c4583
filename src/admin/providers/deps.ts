// What the services of integrations and stored providers are made with.

import type { ProviderReplica } from '../../access/providers/provider-replica.ts';
import type { UsageReader } from '../../ledger/limits/usage.ts';
import { invalidField } from '../../lib/errors.ts';
import { nearProviders } from '../../providers/catalog/registry.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import type { CredentialDeps } from '../integrations/credentials.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import type { MappingDeps } from '../secret-references/mappings.ts';

export interface ProviderDeps extends IdentityDeps, CredentialDeps, MappingDeps {
  readonly replica: ProviderReplica;
  /** Reads the usage of budgets. */
  readonly usage: UsageReader;
  /** The catalogue. */
  readonly providerById: (id: string) => ProviderEntry | undefined;
}

/** The provider of an identifier that a caller wrote. @throws GatewayError validation_failed. */
export function entryOf(
  { providerById }: Pick<ProviderDeps, 'providerById'>,
  id: string,
  field: string,
): ProviderEntry {
  const entry = providerById(id);
  if (entry === undefined)
    throw invalidField(
      field,
      `is no provider that the gateway knows: ${id.slice(0, 64)}${nearProviders(id)}`,
    );
  return entry;
}
