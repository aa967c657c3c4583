// The catalogue of providers, as /providers/catalogue lists it: read off the literals, made once.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type CatalogueOptionSchema,
  type CatalogueProvider,
  CatalogueProviderSchema,
  type ListProviderCatalogueRequest,
  type ProviderCatalogue,
  ProviderCatalogueSchema,
} from '../../../gen/gateway/admin/v2/provider_catalogue_pb.ts';
import { invalidField } from '../../lib/errors.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { createDialects } from '../../providers/dialects/registry.ts';
import { offered } from '../../providers/offered.ts';
import { OPERATION_NAMES } from '../../providers/operations.ts';
import { comesFrom, headersOf } from '../../providers/options/index-of.ts';
import type { OptionSpec } from '../../providers/options/spec.ts';
import { codec } from '../../rest/codec.ts';

/** Operations that can answer in pieces. */
const STREAMED: ReadonlySet<string> = new Set(['chat', 'completions']);

/** The methods of ProviderCatalogueService. */
export function providerCatalogueService(providers: readonly ProviderEntry[]) {
  let made: readonly CatalogueProvider[] | undefined;
  return {
    async listProviderCatalogue({ operation }: ListProviderCatalogueRequest): Promise<ProviderCatalogue> {
      if (operation !== undefined && !(OPERATION_NAMES as readonly string[]).includes(operation))
        throw invalidField('operation', `must be one of ${OPERATION_NAMES.join(', ')}`);
      made ??= catalogueOf(providers);
      const data =
        operation === undefined ? made : made.filter(({ operations }) => operations.includes(operation));
      return create(ProviderCatalogueSchema, { object: 'list', total: data.length, data: [...data] });
    },
  };
}

function catalogueOf(providers: readonly ProviderEntry[]): CatalogueProvider[] {
  const dialects = createDialects(codec);
  return [...providers]
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .map((entry) => {
      const operations = offered(entry, dialects);
      const streams = operations.some((name) => STREAMED.has(name));
      const { id, name, baseUrl, note, keyless = false, options = [] } = entry;
      return create(CatalogueProviderSchema, {
        id,
        object: 'provider_type',
        name,
        ...(baseUrl === undefined ? {} : { baseUrl }),
        customHostRequired: baseUrl === undefined,
        keyless,
        operations,
        features: [...(streams ? ['stream'] : []), 'pass_through'],
        options: options.map(optionOf),
        ...(note === undefined ? {} : { note }),
      });
    });
}

function optionOf(spec: OptionSpec): MessageInitShape<typeof CatalogueOptionSchema> {
  const { name, type, effect, group, aliases = [], oneOf = [], secret = false, required } = spec;
  return {
    name,
    type,
    effect,
    ...(comesFrom(spec, 'header') ? { header: `x-gateway-${headersOf(spec)[0]}` } : {}),
    aliases: [...aliases],
    ...(group === undefined ? {} : { group }),
    values: [...oneOf],
    secret,
    required: required !== undefined && required.stored === undefined,
  };
}
