// What the services of integrations and stored providers are made with.
import type { ProviderShelf } from '../access/providers/provider-shelf.ts';
import type { UsageReader } from '../ledger/limits/usage.ts';
import { invalidField } from '../lib/errors.ts';
import type { ProviderEntry } from '../providers/dialect.ts';
import type { CredentialFacts } from './credentials.ts';
import type { IdentityFacts } from './identity-facts.ts';
import type { MappingFacts } from './secret-mappings.ts';

export interface ProviderFacts extends IdentityFacts, CredentialFacts, MappingFacts {
  readonly shelf: ProviderShelf;
  /** Reads what budgets stand at. */
  readonly usage: UsageReader;
  /** The catalogue. */
  readonly providerById: (id: string) => ProviderEntry | undefined;
}

/** The provider of an identifier that a caller wrote. @throws GatewayError validation_failed. */
export function entryOf(
  { providerById }: Pick<ProviderFacts, 'providerById'>,
  id: string,
  field: string,
): ProviderEntry {
  const entry = providerById(id);
  if (entry === undefined)
    throw invalidField(field, `is no provider that the gateway knows: ${id.slice(0, 64)}`);
  return entry;
}
