// Pinecone's inference API, version 2025-10: rerank.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { tapUsage } from '../../usage/tap.ts';
import { readError } from '../openai/error.ts';
import { rerank } from './rerank.ts';

const VERSION = Object.freeze(['x-pinecone-api-version', '2025-10']);

/** The dialect of Pinecone's inference API. */
export function createPineconeDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'pinecone',
    rerank: rerank(json),
    headers: () => VERSION,
    error: readError,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  });
}
