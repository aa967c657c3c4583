// The dialects that providers name.
import type { Dialect, MessageJson } from '../dialect.ts';
import { createAnthropicDialect } from './anthropic/index.ts';
import { createCohereDialect } from './cohere/index.ts';
import { createGeminiDialect } from './gemini/index.ts';
import { createOpenAiDialect } from './openai/index.ts';

/** Every dialect by name, over the given JSON. */
export function createDialects(json: MessageJson): ReadonlyMap<string, Dialect> {
  const dialects = [
    createOpenAiDialect(json),
    createAnthropicDialect(json),
    createCohereDialect(json),
    createGeminiDialect(json),
  ];
  return new Map(dialects.map((dialect) => [dialect.name, dialect]));
}
