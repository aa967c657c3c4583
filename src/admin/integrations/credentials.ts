// A provider's credential and options as callers give them, made ready for storage: checked against the provider's
// options, secrets apart from the rest, and with each secret the masked form that may be shown.

import { keyMask } from '../../access/key-hash.ts';
import type { Credentials, StoredMapping } from '../../access/providers/provider-collections.ts';
import { optionFaults } from '../../access/providers/read-option.ts';
import { type Violation, validationFailed } from '../../lib/errors.ts';
import { theNearest } from '../../lib/nearest-names.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import { waysOf } from '../../providers/options/named.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import { defined } from '../kit/patch.ts';
import { addressOf, checkComplete, checkGivenAgain, type FieldOf } from './credential-checks.ts';

/** What reading them needs. */
export interface CredentialDeps {
  /**
   * @param localPort the port of this machine that the provider's own server has
   * @throws GatewayError host_refused naming `param` for an address that may not be called.
   */
  readonly checkHost: (url: string, param: string, localPort?: number) => void;
}

/** As a caller gives them. */
export interface GivenCredentials {
  readonly key?: string | undefined;
  /** Options by name; null takes one away. */
  readonly options?: JsonObject | undefined;
  /** Values from secret references, as `readMappings` made them. */
  readonly mappings?: readonly StoredMapping[] | undefined;
}

/** What an update means. */
export interface CredentialChange extends GivenCredentials {
  readonly clearKey: boolean;
  readonly clearOptions: boolean;
  readonly clearMappings: boolean;
  /** Whether options that are not named stay; else only secret ones do. */
  readonly merges: boolean;
}

const HEADERS = 'custom_headers';
const SHOWN = 'masked_';

/** @throws GatewayError validation_failed for what the provider does not have or needs, host_refused. */
export function newCredentials(
  deps: CredentialDeps,
  entry: ProviderEntry,
  { key, options = {}, mappings }: GivenCredentials,
  fieldOf: FieldOf,
): Credentials {
  const given = readOptions(deps, entry, options, fieldOf);
  const made = joined(
    key,
    key === undefined ? undefined : keyMask(key),
    given.plain,
    given.secret,
    maskedOf(given.secret),
    mappings,
  );
  checkComplete(entry, made, fieldOf);
  return made;
}

/** @throws GatewayError as `newCredentials`, and for secrets that a new address asks for again. */
export function changedCredentials(
  deps: CredentialDeps,
  entry: ProviderEntry,
  before: Credentials,
  { key, options, mappings, clearKey, clearOptions, clearMappings, merges }: CredentialChange,
  fieldOf: FieldOf,
): Credentials {
  const changes = [key, options, mappings].some((one) => one !== undefined);
  if (!(changes || clearKey || clearOptions || clearMappings)) return pick(before);
  const given = readOptions(deps, entry, options ?? {}, fieldOf);
  const keeps = (all: JsonObject | undefined): JsonObject =>
    clearOptions ? {} : without(all ?? {}, given.removed);
  const plain =
    options === undefined || merges ? { ...keeps(before.configurations), ...given.plain } : given.plain;
  const secret = { ...keeps(before.secretConfigurations), ...given.secret };
  const masks = { ...keeps(before.secretMasks), ...maskedOf(given.secret) };
  // A key that cannot be opened is not looked at where another takes its place.
  const kept = key ?? (clearKey ? undefined : before.key);
  const mask = key === undefined ? (clearKey ? undefined : before.keyMask) : keyMask(key);
  const mapped = mappings ?? (clearMappings ? undefined : before.secretMappings);
  const made = joined(kept, mask, plain, secret, masks, mapped);
  checkComplete(entry, made, fieldOf);
  if (addressOf(entry, before) !== addressOf(entry, made))
    checkGivenAgain(
      made,
      { key: key !== undefined, options: given.secret, mappings: mappings !== undefined },
      fieldOf,
    );
  return made;
}

/** What is shown of the options. */
export function shownOptions({ configurations = {}, secretMasks = {} }: Credentials): JsonObject {
  const masked = Object.entries(secretMasks).map(([name, mask]) => [`${SHOWN}${name}`, mask]);
  return { ...configurations, ...Object.fromEntries(masked) };
}

/** What is shown of headers that an operator set. */
export function maskedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, keyMask(value)]));
}

/** Only the credentials of a body. */
export function pick(body: Credentials): Credentials {
  const { key, keyMask: mask, configurations, secretConfigurations, secretMasks, secretMappings } = body;
  return defined<Credentials>({
    key,
    keyMask: mask,
    configurations,
    secretConfigurations,
    secretMasks,
    secretMappings,
  });
}

interface ReadOptions {
  readonly plain: JsonObject;
  readonly secret: JsonObject;
  readonly removed: readonly string[];
}

function readOptions(
  { checkHost }: CredentialDeps,
  entry: ProviderEntry,
  options: JsonObject,
  fieldOf: FieldOf,
): ReadOptions {
  const { stored: specs } = optionsOf(entry);
  const violations: Violation[] = [];
  const plain: Record<string, Json> = {};
  const secret: Record<string, Json> = {};
  const removed: string[] = [];
  for (const [name, value] of Object.entries(options)) {
    // What an answer showed may come back.
    if (name.startsWith(SHOWN) && specs.has(name.slice(SHOWN.length))) continue;
    const spec = specs.get(name);
    const faults =
      spec === undefined
        ? [{ path: '', message: `is no option of ${entry.id}${nearOptions(name, specs, violations)}` }]
        : value === null
          ? []
          : optionFaults(spec, value);
    for (const { path, message } of faults)
      violations.push({
        field: `${fieldOf(name)}${path === '' || path.startsWith('[') ? path : `.${path}`}`,
        rule: 'option',
        message: spec === undefined ? message : `${message} (${waysOf(spec)})`,
      });
    if (faults.length > 0) continue;
    if (value === null) removed.push(name);
    else if (spec?.secret) secret[name] = value;
    else plain[name] = value;
    if (spec?.type === 'host' && value !== null) checkHost(String(value), fieldOf(name), entry.localPort);
  }
  if (violations.length > 0) throw validationFailed(violations);
  return { plain, secret, removed };
}

/** Only for the first faults: comparing words takes time. */
function nearOptions(
  name: string,
  specs: ReadonlyMap<string, unknown>,
  { length }: readonly Violation[],
): string {
  return length < 5 ? theNearest(name, specs.keys()) : '';
}

function joined(
  key: string | undefined,
  mask: string | undefined,
  plain: JsonObject,
  secret: JsonObject,
  masks: JsonObject,
  mappings: readonly StoredMapping[] | undefined,
): Credentials {
  const some = (object: JsonObject): JsonObject | undefined =>
    Object.keys(object).length > 0 ? object : undefined;
  return defined<Credentials>({
    key,
    keyMask: mask,
    configurations: some(plain),
    secretConfigurations: some(secret),
    secretMasks: some(masks),
    secretMappings: mappings !== undefined && mappings.length > 0 ? mappings : undefined,
  });
}

function maskedOf(secret: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(secret).map(([name, value]) => {
      if (name === HEADERS) return [name, maskedHeaders(value as Readonly<Record<string, string>>)];
      return [name, typeof value === 'string' ? keyMask(value) : keyMask('')];
    }),
  );
}

function without(all: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)));
}
