// Oracle Generative AI's dialect: POST /20231130/actions/chat, for models of the generic format and of Cohere's.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { readErrorBody } from '../../provider-error.ts';
import { tapUsage } from '../../usage/tap.ts';
import { chat } from './chat.ts';

const NONE: readonly string[] = Object.freeze([]);

/** The dialect of Oracle's inference API. */
export function createOracleDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'oracle',
    chat: chat(json),
    headers: () => NONE,
    error: readErrorBody,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  });
}
