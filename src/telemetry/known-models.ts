// Which models may be labels: those that the catalogue knows, and those that the operator names.
import type { KnownModels } from './usage-series.ts';

const NAMED = Object.freeze({ mode: undefined });

/** @param named by the operator, of any provider */
export function knownModels(catalogue: KnownModels, named: readonly string[]): KnownModels {
  if (named.length === 0) return catalogue;
  const own = new Set(named);
  return {
    find: (provider, model) => catalogue.find(provider, model) ?? (own.has(model) ? NAMED : undefined),
  };
}
