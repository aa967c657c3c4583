// The catalogue of providers, as the document lists it.

import type { ProviderEntry } from '../providers/dialect.ts';
import { createDialects } from '../providers/dialects/registry.ts';
import { offered } from '../providers/offered.ts';
import { comesFrom, headersOf } from '../providers/options/index-of.ts';
import type { OptionSpec } from '../providers/options/spec.ts';
import { codec } from '../rest/codec.ts';
import type { Json } from './json.ts';

const dialects = createDialects(codec);

/** `x-sluice-providers`: ids, names, operations and options, by id. */
export function providerList(providers: readonly ProviderEntry[]): Json[] {
  return [...providers].sort(byId).map((entry): Json => {
    const { id, name, baseUrl, options = [] } = entry;
    return {
      id,
      name,
      operations: offered(entry, dialects),
      ...(baseUrl === undefined ? { custom_host: 'required' } : { base_url: baseUrl }),
      options: options.map(optionOf),
    };
  });
}

/** The ids, as a caller of `x-gateway-provider` may write them. */
export function idsInWords(providers: readonly ProviderEntry[]): string {
  return [...providers]
    .sort(byId)
    .map(({ id }) => `\`${id}\``)
    .join(', ');
}

function optionOf(spec: OptionSpec): Json {
  const { name, type, effect, group, oneOf, secret, required, aliases } = spec;
  return {
    name,
    type,
    effect,
    ...(comesFrom(spec, 'header') ? { header: `x-gateway-${headersOf(spec)[0]}` } : {}),
    ...(aliases === undefined ? {} : { aliases: [...aliases] }),
    ...(group === undefined ? {} : { group }),
    ...(oneOf === undefined ? {} : { values: [...oneOf] }),
    ...(secret ? { secret } : {}),
    ...(required === undefined ? {} : { required: required.operations ? [...required.operations] : true }),
  };
}

function byId(a: ProviderEntry, b: ProviderEntry): number {
  return a.id < b.id ? -1 : 1;
}
