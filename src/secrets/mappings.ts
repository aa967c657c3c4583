// Puts the values of secret references into the configuration of a provider or an integration.
import type { Json, JsonObject } from '../store/collection.ts';
import type { Secrets } from './secrets.ts';
import { formatted } from './value.ts';

/** One value and its place (admin-api facts, part 4.5). */
export interface SecretMapping {
  /** `key`, or a group and a field, e.g. `configurations.aws_secret_access_key`. */
  readonly targetField: string;
  /** Id or slug. */
  readonly secretReferenceId: string;
  /** The member to use instead of the reference's own. */
  readonly secretKey?: string;
  /** `json`: parsed before it is put in place. */
  readonly valueFormat?: 'string' | 'json';
}

/** Whose call it is. */
export interface MappingTenant {
  readonly organisationId: string;
  readonly workspaceId: string | undefined;
}

const FIELD = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/**
 * The fields with the secrets in their places; earlier values are replaced. The secrets are read at once.
 * @param fields e.g. `{key, configurations: {…}}`
 * @throws GatewayError as `resolve` does; secret_unavailable for a value that must be JSON and is not
 */
export async function withSecrets(
  fields: JsonObject,
  mappings: readonly SecretMapping[],
  tenant: MappingTenant,
  resolve: Secrets['resolve'],
): Promise<JsonObject> {
  if (mappings.length === 0) return fields;
  const values = await Promise.all(
    mappings.map(async ({ secretReferenceId, secretKey, valueFormat }) => {
      const { organisationId, workspaceId } = tenant;
      const text = await resolve(organisationId, workspaceId, secretReferenceId, secretKey);
      return formatted(text, valueFormat);
    }),
  );
  return mappings.reduce(
    (all, { targetField }, i) => placed(all, targetField.split('.'), values[i]!),
    fields,
  );
}

/**
 * The target as it is kept: `key`, or a field with its group before it, which a bare field gets.
 * @param group e.g. `configurations` or `model_config`
 * @param keyed whether there is a `key` to fill
 * @returns undefined for what is no target
 */
export function targetFieldOf(text: string, group: string, keyed: boolean): string | undefined {
  if (text === 'key') return keyed ? text : undefined;
  const [first, field, ...rest] = text.split('.');
  if (rest.length > 0 || first === undefined) return undefined;
  if (field === undefined) return FIELD.test(first) ? `${group}.${first}` : undefined;
  return first === group && FIELD.test(field) ? text : undefined;
}

function placed(object: JsonObject, [name = '', ...rest]: readonly string[], value: Json): JsonObject {
  const inner = Object.hasOwn(object, name) ? object[name] : undefined;
  const group = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {};
  const put = rest.length === 0 ? value : placed(group as JsonObject, rest, value);
  // Computed members are defined, not assigned: `__proto__` is a name like any other.
  return { ...object, [name]: put };
}
