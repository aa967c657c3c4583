// Headers of the dialect (Anthropic API reference, "Versions" and "Beta headers").
import type { Target } from '../../dialect.ts';
import { optionHeaders } from '../../option-headers.ts';

/** The version that this dialect was written against. */
const VERSION = '2023-06-01';
const HEADERS = Object.freeze({ anthropic_version: 'anthropic-version', anthropic_beta: 'anthropic-beta' });
const DEFAULT: readonly string[] = Object.freeze(['anthropic-version', VERSION]);

/** Flat pairs that every request of the dialect carries: the version, and betas where they are asked for. */
export function headers({ options }: Target): readonly string[] {
  if (!options.anthropic_version && !options.anthropic_beta) return DEFAULT;
  return optionHeaders({ ...options, anthropic_version: options.anthropic_version || VERSION }, HEADERS);
}
