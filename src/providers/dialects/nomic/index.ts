// Nomic's dialect: embeddings of texts.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { readErrorBody } from '../../provider-error.ts';
import { tapUsage } from '../../usage/tap.ts';
import { embeddings } from './embeddings.ts';

const NONE: readonly string[] = Object.freeze([]);

/** The dialect of Nomic's Atlas API. */
export function createNomicDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'nomic',
    embeddings: embeddings(json),
    headers: () => NONE,
    error: readErrorBody,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  });
}
