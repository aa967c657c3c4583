// Anthropic's dialect: the Messages API behind OpenAI's shape.
import type { Dialect, MessageJson } from '../../dialect.ts';
import { chat } from './chat.ts';
import { readError } from './error.ts';
import { headers } from './headers.ts';
import { model } from './model.ts';
import { models } from './models.ts';
import { tapUsage, usageOf } from './usage.ts';

/** The dialect of Anthropic's Messages API. */
export function createAnthropicDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'anthropic',
    chat: chat(json),
    models: models(json),
    model: model(json),
    headers,
    error: readError,
    usageOf,
    tapUsage,
  });
}
