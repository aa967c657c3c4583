// Which models an integration lets through, and how single ones of them are reached.
import type { IntegrationBody, ModelEntry } from './provider-collections.ts';

/** What the data plane asks of an integration's models. */
export interface ModelAccess {
  /** Whether there is a model that is not let through. */
  readonly restricted: boolean;
  allows(model: string): boolean;
  /** Models that it names and allows, custom ones too. */
  readonly named: readonly string[];
  /** The model's own base address. */
  hostOf(model: string): string | undefined;
  /** Flat pairs of the model's own headers. */
  headersOf(model: string): readonly string[];
}

const NONE: readonly string[] = Object.freeze([]);

/** Undefined when the integration does not restrict models. */
export function modelAccess({ allowAllModels, models = [] }: IntegrationBody): ModelAccess | undefined {
  if (allowAllModels && models.length === 0) return undefined;
  const known = new Map<string, ModelEntry>(models.map((entry) => [entry.slug, entry]));
  return {
    restricted: !allowAllModels || models.some(({ enabled }) => !enabled),
    allows: (model) => known.get(model)?.enabled ?? allowAllModels,
    named: models.filter(({ enabled }) => enabled).map(({ slug }) => slug),
    hostOf: (model) => known.get(model)?.customHost,
    headersOf: (model) => {
      const headers = known.get(model)?.customHeaders;
      return headers === undefined ? NONE : Object.entries(headers).flat();
    },
  };
}
