// Triton's dialect: text completions over its generate extension.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { readErrorBody } from '../../provider-error.ts';
import { tapUsage } from '../../usage/tap.ts';
import { completions } from './completions.ts';

const NONE: readonly string[] = Object.freeze([]);

/** The dialect of Triton Inference Server. */
export function createTritonDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'triton',
    completions: completions(),
    headers: () => NONE,
    error: readErrorBody,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  });
}
