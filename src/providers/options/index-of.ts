// A provider's options as its readers look them up. Made once per literal.
import type { ProviderEntry } from '../dialect.ts';
import { COMMON_OPTIONS } from './common.ts';
import type { OptionSource, OptionSpec } from './spec.ts';

/** An option and the request headers that set it, without the gateway's prefix. */
export interface OptionHeaders {
  readonly spec: OptionSpec;
  readonly headers: readonly string[];
}

/** The options of one provider. */
export interface OptionIndex {
  /** Those that headers set. */
  readonly fromHeaders: readonly OptionHeaders[];
  /** The headers of those. */
  readonly headerNames: readonly string[];
  /** Those that a config may name, by name and alias. */
  readonly fromConfig: ReadonlyMap<string, OptionSpec>;
  /** Those of integrations and virtual keys, the common ones among them, by name. */
  readonly stored: ReadonlyMap<string, OptionSpec>;
  /** Those that a call is checked for. */
  readonly checked: readonly OptionSpec[];
  /** Those that become headers of the provider's request. */
  readonly sentHeaders: readonly OptionSpec[];
  /** Those that become parameters of its query. */
  readonly sentQuery: readonly OptionSpec[];
  /** Those that say the model in place of the request. */
  readonly insteadOfModel: readonly OptionSpec[];
  /** Models by what serves them; undefined: the provider has no deployments. */
  readonly deployments: OptionSpec | undefined;
}

const made = new WeakMap<ProviderEntry, OptionIndex>();

/** A provider's options. */
export function optionsOf(entry: ProviderEntry): OptionIndex {
  let index = made.get(entry);
  if (index === undefined) {
    index = indexOf(entry.options ?? []);
    made.set(entry, index);
  }
  return index;
}

/** Whether an option may come from there. */
export function comesFrom({ from }: OptionSpec, source: OptionSource): boolean {
  return from === undefined || from.includes(source);
}

/** The request headers of an option, without the gateway's prefix; the documented one first. */
export function headersOf({ name, headers }: OptionSpec): readonly string[] {
  return headers ?? [name.replaceAll('_', '-')];
}

/** Options by name, and by each of the aliases that no name takes. */
export function byNameAndAlias(specs: readonly OptionSpec[]): ReadonlyMap<string, OptionSpec> {
  const found = new Map<string, OptionSpec>();
  for (const spec of specs) for (const alias of spec.aliases ?? []) found.set(alias, spec);
  for (const spec of specs) found.set(spec.name, spec);
  return found;
}

function indexOf(specs: readonly OptionSpec[]): OptionIndex {
  const from = (source: OptionSource): OptionSpec[] => specs.filter((spec) => comesFrom(spec, source));
  const fromHeaders = from('header').map((spec) => ({ spec, headers: headersOf(spec) }));
  return {
    fromHeaders,
    headerNames: fromHeaders.flatMap(({ headers }) => headers),
    fromConfig: byNameAndAlias(from('config')),
    stored: new Map([...COMMON_OPTIONS, ...from('stored')].map((spec) => [spec.name, spec])),
    checked: specs.filter((spec) => isCheckedPerCall(spec)),
    sentHeaders: specs.filter(({ sends }) => sends?.header !== undefined),
    sentQuery: specs.filter(({ sends }) => sends?.query !== undefined),
    insteadOfModel: specs.filter(({ insteadOfModel }) => insteadOfModel !== undefined),
    deployments: specs.find(({ deployment }) => deployment !== undefined),
  };
}

/** What only integrations have is checked when they are written. */
function isCheckedPerCall(spec: OptionSpec): boolean {
  const { required, pattern, oneOf, type } = spec;
  return (
    ((required !== undefined && !required.stored) ||
      pattern !== undefined ||
      oneOf !== undefined ||
      type === 'flag' ||
      type === 'host') &&
    (comesFrom(spec, 'header') || comesFrom(spec, 'config'))
  );
}
