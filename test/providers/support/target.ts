// A target as the pipeline would make it.
import { providerById } from '../../../src/providers/catalog/registry.ts';
import type { Target, TranslationContext } from '../../../src/providers/dialect.ts';

/** Unix time of every translation in tests, in milliseconds. */
export const NOW = 1_700_000_000_123;

/** A target of a provider of the catalogue, with what differs from a plain one. */
export function targetOf(id: string, different: Partial<Target> = {}): Target {
  const provider = providerById(id);
  if (provider === undefined) throw new Error(`no provider ${id}`);
  return { provider, apiKey: 'sk-test', options: {}, customHost: undefined, strict: true, ...different };
}

/** The context of one translation. */
export function contextOf(target: Target): TranslationContext {
  return { target, now: () => NOW };
}
