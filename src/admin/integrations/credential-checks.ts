// Whether a provider's credentials are whole, and whether they go to where they were given for.
import type { Credentials } from '../../access/providers/provider-collections.ts';
import { invalidField, validationFailed } from '../../lib/errors.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { originOf } from '../../providers/locate.ts';
import { isRequired } from '../../providers/options/check.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import { CUSTOM_HOST_WAYS, KEY_WAYS, waysOf } from '../../providers/options/named.ts';
import type { JsonObject } from '../../store/collection.ts';

/** The field of an option, for refusals. */
export type FieldOf = (option: string) => string;

/** That everything is there that the provider needs. With a host of one's own, only one's own server knows. */
export function checkComplete(entry: ProviderEntry, made: Credentials, fieldOf: FieldOf): void {
  const { keyMask: mask, configurations: plain = {}, secretMasks: secret = {}, secretMappings = [] } = made;
  const mapped = new Set(
    secretMappings.map(({ targetField }) => targetField.slice(targetField.indexOf('.') + 1)),
  );
  if (plain.custom_host !== undefined) return;
  const hasAddress = entry.options?.some(({ type, required }) => type === 'host' && required !== undefined);
  if (entry.baseUrl === undefined && !hasAddress)
    throw invalidField(
      fieldOf('custom_host'),
      `is required for ${entry.id} (${CUSTOM_HOST_WAYS})`,
      'required',
    );
  const specs = [...optionsOf(entry).stored.values()];
  const violations = specs
    .filter(
      (spec) =>
        plain[spec.name] === undefined &&
        secret[spec.name] === undefined &&
        !mapped.has(spec.name) &&
        isRequired(spec, plain),
    )
    .map((spec) => ({
      field: fieldOf(spec.name),
      rule: 'required',
      message: `is required for ${entry.id} (${waysOf(spec)})`,
    }));
  if (violations.length > 0) throw validationFailed(violations);
  const keyless =
    entry.auth === 'none' ||
    entry.keyless === true ||
    specs.some(({ name, keylessWith }) => keylessWith?.some((value) => value === plain[name]));
  if (mask === undefined && !keyless && !mapped.has('key'))
    throw invalidField('key', `is required for ${entry.id} (${KEY_WAYS})`, 'required');
}

/**
 * A secret was given for an address. Who may change the one and never saw the other must not have it sent to where
 * it can be read. A mapping is such a secret: naming it again takes the right to use its reference.
 * @param given what the change gives again: the key, secret options by name, the mappings
 */
export function checkGivenAgain(
  { keyMask: mask, secretMasks = {}, secretMappings = [] }: Credentials,
  given: { readonly key: boolean; readonly options: JsonObject; readonly mappings: boolean },
  fieldOf: FieldOf,
  why = 'the address that it is sent to is another',
): void {
  const kept = Object.keys(secretMasks).find((name) => !Object.hasOwn(given.options, name));
  const fields = [
    mask !== undefined && !given.key ? 'key' : undefined,
    kept === undefined ? undefined : fieldOf(kept),
    secretMappings.length > 0 && !given.mappings ? 'secret_mappings' : undefined,
  ];
  const field = fields.find((one) => one !== undefined);
  if (field !== undefined) throw invalidField(field, `must be given again: ${why}`, 'required');
}

/**
 * Where calls go, as one text: scheme, host and port, and the options that say which part of the provider is meant.
 * Paths are left out: they are the same server's.
 */
export function addressOf(entry: ProviderEntry, { configurations: options = {} }: Credentials): string {
  const { stored: specs } = optionsOf(entry);
  const named = Object.entries(options)
    .filter(([name, value]) => specs.get(name)?.effect === 'address' && typeof value === 'string')
    .filter(([name]) => name !== 'custom_host')
    .map(([name, value]) => `${name}=${httpOrigin(String(value)) ?? value}`)
    .sort();
  const { custom_host: host } = options;
  const origin = host === undefined ? ownOriginOf(entry, options) : httpOrigin(String(host));
  return [origin ?? '', ...named].join(' ');
}

/** The provider's own scheme, host and port with these options; undefined when it has none. */
export function ownOriginOf(entry: ProviderEntry, options: JsonObject = {}): string | undefined {
  const texts = Object.entries(options).filter(([, value]) => typeof value === 'string');
  try {
    return originOf(entry, Object.fromEntries(texts) as Record<string, string>);
  } catch {
    return undefined;
  }
}

function httpOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : undefined;
}
