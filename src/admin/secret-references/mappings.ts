// Which of a provider's values come from secret references: as callers write it, and as it is stored.
import { create } from '@bufbuild/protobuf';
import { type SecretMapping, SecretMappingSchema } from '../../../gen/gateway/common/v2/secret_mapping_pb.ts';
import type { StoredMapping } from '../../access/providers/provider-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import type { OptionSpec } from '../../providers/options/spec.ts';
import { targetFieldOf } from '../../secrets/mappings.ts';
import type { SecretReferences } from '../../secrets/references.ts';
import { defined } from '../kit/patch.ts';

/** What reading them needs. */
export interface MappingDeps {
  readonly secretReferences: Pick<SecretReferences, 'find'>;
}

/** Whose they are. */
export interface MappingPlace {
  readonly organisationId: string;
  /** Undefined: of the organisation. */
  readonly workspaceId: string | undefined;
  /** The prefix of options: `configurations` or `model_config`. */
  readonly group: string;
}

/** @throws GatewayError validation_failed for targets that are none or named twice, and references that are not seen. */
export function readMappings(
  deps: MappingDeps,
  entry: ProviderEntry,
  given: readonly SecretMapping[],
  place: MappingPlace,
): readonly StoredMapping[] {
  const { stored: specs } = optionsOf(entry);
  const { group } = place;
  const targetOf = (text: string): string | undefined => {
    const target = targetFieldOf(text, group, true);
    const option = target?.startsWith(`${group}.`) ? target.slice(group.length + 1) : undefined;
    const spec = option === undefined ? undefined : specs.get(option);
    return (spec === undefined ? target === 'key' : takesSecret(spec)) ? target : undefined;
  };
  return mappingsOf(deps, given, place, targetOf, `must be key or a secret option of ${entry.id}`);
}

/**
 * @param targetOf the place as it is kept; undefined for what is none
 * @param help what a target must be, for refusals
 * @throws GatewayError as `readMappings`
 */
export function mappingsOf(
  { secretReferences }: MappingDeps,
  given: readonly SecretMapping[],
  { organisationId, workspaceId }: Omit<MappingPlace, 'group'>,
  targetOf: (text: string) => string | undefined,
  help: string,
): readonly StoredMapping[] {
  const named = new Set<string>();
  return given.map((mapping, i) => {
    const field = `secret_mappings[${i}]`;
    const target = targetOf(mapping.targetField);
    if (target === undefined) throw invalidField(`${field}.target_field`, help);
    if (named.has(target)) throw invalidField(`${field}.target_field`, 'is named twice');
    named.add(target);
    const reference = secretReferences.find(organisationId, workspaceId, mapping.secretReferenceId);
    if (reference === undefined)
      throw invalidField(`${field}.secret_reference_id`, 'names no secret reference');
    return defined<StoredMapping>({
      targetField: target,
      secretReferenceId: reference.id,
      secretKey: mapping.secretKey,
      valueFormat: mapping.valueFormat as StoredMapping['valueFormat'],
    });
  });
}

/** Not a call's address: a secret that another caller may change must not lead a credential elsewhere. */
function takesSecret({ type, effect }: OptionSpec): boolean {
  return (type === 'text' || type === 'object') && effect !== 'address';
}

/** As callers are shown them. */
export function shownMappings(mappings: readonly StoredMapping[] = []): SecretMapping[] {
  return mappings.map(({ origins: _, ...mapping }) => create(SecretMappingSchema, mapping));
}
