// What configs are judged by in tests.
import type { ParseDeps } from '../../../src/inference/plan/parse-deps.ts';
import { providerById } from '../../../src/providers/catalog/registry.ts';

export interface TestFacts {
  readonly saved?: Readonly<Record<string, unknown>>;
  readonly stored?: readonly string[];
  readonly checkHost?: ParseDeps['checkHost'];
}

export function factsWith({ saved = {}, stored = [], checkHost = () => {} }: TestFacts = {}): ParseDeps {
  return {
    providerById,
    checkHost,
    isOwnKey: (text) => text.startsWith('slk_'),
    ownsHeader: (name) => name.startsWith('x-gateway-'),
    hasProvider: (slug) => stored.includes(slug),
    savedConfig: (slug) => saved[slug],
    readGuardrails: () => undefined,
    joinGuardrails: (outer, inner) => inner ?? outer,
  };
}

/** A condition of a config. */
export function when(query: unknown, target: string): object {
  // biome-ignore lint/suspicious/noThenProperty: the config's own word
  return { query, then: target };
}
