// Anthropic's dialect: the Messages API in OpenAI's shape.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { nativeCount, nativeMessages } from '../../forms/messages/native.ts';
import { sentHeaders } from '../../options/sent.ts';
import { tapUsage } from '../../usage/tap.ts';
import { chat } from './chat.ts';
import { readError } from './error.ts';
import { model } from './model.ts';
import { models } from './models.ts';

/** The dialect of Anthropic's Messages API. */
export function createAnthropicDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'anthropic',
    chat: chat(json),
    messages: nativeMessages(json),
    countTokens: nativeCount(json),
    models: models(json),
    model: model(json),
    headers: sentHeaders,
    error: readError,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  });
}
