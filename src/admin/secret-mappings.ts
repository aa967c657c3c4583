// Which of a provider's values come from secret references: as callers write it, and as it is kept.
import { create } from '@bufbuild/protobuf';
import { type SecretMapping, SecretMappingSchema } from '../../gen/gateway/common/v2/secret_mapping_pb.ts';
import type { StoredMapping } from '../access/providers/collections.ts';
import { isAddressOption, optionRules } from '../access/providers/option-rules.ts';
import { invalidField } from '../lib/errors.ts';
import type { ProviderEntry } from '../providers/dialect.ts';
import { targetFieldOf } from '../secrets/mappings.ts';
import type { SecretReferences } from '../secrets/references.ts';
import { defined } from './patch.ts';

/** What reading them needs. */
export interface MappingFacts {
  readonly secretReferences: Pick<SecretReferences, 'find'>;
}

/** Whose they are. */
export interface MappingPlace {
  readonly organisationId: string;
  /** Undefined: of the organisation. */
  readonly workspaceId: string | undefined;
  /** What stands before options: `configurations` or `model_config`. */
  readonly group: string;
}

/** @throws GatewayError validation_failed for targets that are none or named twice, and references that are not seen. */
export function readMappings(
  { secretReferences }: MappingFacts,
  entry: ProviderEntry,
  given: readonly SecretMapping[],
  { organisationId, workspaceId, group }: MappingPlace,
): readonly StoredMapping[] {
  const rules = optionRules(entry.id, entry.options);
  const named = new Set<string>();
  return given.map((mapping, i) => {
    const field = `secret_mappings[${i}]`;
    const target = targetFieldOf(mapping.targetField, group, true);
    const option = target?.startsWith(`${group}.`) ? target.slice(group.length + 1) : undefined;
    const rule = option !== undefined && Object.hasOwn(rules, option) ? rules[option] : undefined;
    const fits = rule === undefined ? target === 'key' : rule.type === 'text' || rule.type === 'object';
    // A secret that somebody else may change must not lead a credential elsewhere.
    if (target === undefined || !fits || (option !== undefined && isAddressOption(option)))
      throw invalidField(`${field}.target_field`, `must be key or a secret option of ${entry.id}`);
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

/** As callers are shown them. */
export function shownMappings(mappings: readonly StoredMapping[] = []): SecretMapping[] {
  return mappings.map(({ origins: _, ...mapping }) => create(SecretMappingSchema, mapping));
}
