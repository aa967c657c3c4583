// The reader of options in configs: members that the config's own schema does not name.
import { RoutingConfigSchema } from '../../../gen/gateway/inference/v2/config_pb.ts';
import { configOption, configOptionNames } from '../../providers/catalog/known-options.ts';
import type { ProviderEntry, ProviderOptions } from '../../providers/dialect.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import { waysOf } from '../../providers/options/named.ts';
import type { OptionSpec } from '../../providers/options/spec.ts';
import { shapeOf } from '../../rest/json-shape.ts';
import type { Fault } from './faults.ts';
import { notKnown } from './not-known.ts';
import type { ConfigLevel, Option } from './read-config.ts';

/**
 * What a level says of its provider. A level that names the provider may say only what that one reads; levels above
 * may say what any provider reads.
 */
export function configOptions(
  { config, options }: ConfigLevel,
  provider: ProviderEntry | undefined,
  faults: Fault[],
): ProviderOptions {
  const read: Record<string, string> = {};
  for (const { name, path, value } of options) {
    const own = provider && optionsOf(provider).fromConfig.get(name);
    const spec = own ?? configOption(name);
    const text = spec && optionText(spec, value);
    if (spec === undefined) faults.push({ path, message: notKnown(name, () => membersOf(provider), faults) });
    else if (value !== null && text === undefined)
      faults.push({ path, message: `must be a string (${waysOf(spec)})` });
    else if (provider && config.provider !== undefined && own === undefined)
      faults.push({ path, message: `is not an option of ${provider.id}` });
    else if (text !== undefined) read[spec.name] = text;
  }
  return read;
}

/** Names that a level may have. */
function membersOf(provider: ProviderEntry | undefined): Iterable<string> {
  const shape = shapeOf(RoutingConfigSchema);
  const own = shape.kind === 'object' ? [...shape.byName.keys()] : [];
  return [...own, ...(provider ? optionsOf(provider).fromConfig.keys() : configOptionNames())];
}

/** Refuses members that would lead a stored provider's credential elsewhere. */
export function keepOptionsToStored(options: readonly Option[], faults: Fault[]): void {
  for (const { name, path } of options) {
    const spec = configOption(name);
    if (spec !== undefined && !isHarmless(spec))
      faults.push({ path, message: 'belongs to the stored provider' });
  }
}

/** Whether an option changes neither where a call goes nor on whose account. */
export function isHarmless({ effect }: OptionSpec): boolean {
  return effect === 'model' || effect === 'none';
}

/** Whether an option that a config names is harmless; one that is not known is not. */
export function isHarmlessName(name: string): boolean {
  const spec = configOption(name);
  return spec !== undefined && isHarmless(spec);
}

/** An option's value as text; undefined when it can be none. */
function optionText({ type }: OptionSpec, value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return type === 'object' && typeof value === 'object' && value !== null ? JSON.stringify(value) : undefined;
}
