// Whether a provider's credentials are whole, and whether they go to where they were given for.
import type { Credentials } from '../access/providers/collections.ts';
import { isAddressOption, type OptionRules, optionRules } from '../access/providers/option-rules.ts';
import { invalidField, validationFailed } from '../lib/errors.ts';
import type { ProviderEntry } from '../providers/dialect.ts';
import type { Json, JsonObject } from '../store/collection.ts';

/** The field of an option, for refusals. */
export type FieldOf = (option: string) => string;

/** Ways of proving who calls that need no key. */
const KEYLESS_MODES: ReadonlySet<Json | undefined> = new Set([
  'entra',
  'managed',
  'workload',
  'entraFederated',
  'accessKey',
  'assumedRole',
  'serviceRole',
  'serviceAccount',
]);

/** That everything is there that the provider needs. With a host of one's own, only one's own server knows. */
export function checkComplete(entry: ProviderEntry, made: Credentials, fieldOf: FieldOf): void {
  const { keyMask: mask, configurations: plain = {}, secretMasks: secret = {}, secretMappings = [] } = made;
  const mapped = new Set(
    secretMappings.map(({ targetField }) => targetField.slice(targetField.indexOf('.') + 1)),
  );
  if (plain.custom_host !== undefined) return;
  if (entry.baseUrl === undefined && entry.locate === undefined)
    throw invalidField(fieldOf('custom_host'), `is required for ${entry.id}`, 'required');
  const rules: OptionRules = optionRules(entry.id, entry.options);
  const violations = Object.entries(rules)
    .filter(
      ([name, { required }]) =>
        required && plain[name] === undefined && secret[name] === undefined && !mapped.has(name),
    )
    .map(([name]) => ({ field: fieldOf(name), rule: 'required', message: `is required for ${entry.id}` }));
  if (violations.length > 0) throw validationFailed(violations);
  const { azure_auth_mode: azure, aws_auth_type: aws, vertex_auth_type: vertex } = plain;
  const keyless =
    entry.auth === 'none' ||
    entry.keyless === true ||
    plain.is_key_required === false ||
    [azure, aws, vertex].some((mode) => KEYLESS_MODES.has(mode));
  if (mask === undefined && !keyless && !mapped.has('key'))
    throw invalidField('key', `is required for ${entry.id}`, 'required');
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
  const named = Object.entries(options)
    .filter(([name, value]) => name !== 'custom_host' && isAddressOption(name) && typeof value === 'string')
    .map(([name, value]) => `${name}=${originOf(String(value)) ?? value}`)
    .sort();
  const { custom_host: host } = options;
  const url = host === undefined ? ownUrlOf(entry, options) : String(host);
  return [originOf(url) ?? '', ...named].join(' ');
}

/** The provider's own base URL with these options; empty when it has none. */
export function ownUrlOf(entry: ProviderEntry, options: JsonObject = {}): string {
  const texts = Object.entries(options).filter(([, value]) => typeof value === 'string');
  try {
    const own = entry.locate?.(Object.fromEntries(texts) as Record<string, string>, undefined, false);
    return own?.baseUrl ?? entry.baseUrl ?? '';
  } catch {
    return '';
  }
}

function originOf(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : undefined;
}
