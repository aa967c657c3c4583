// The dialects that providers name. Those of clouds are loaded when they are first used.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Dialect, MessageJson } from '../dialect.ts';
import { createAnthropicDialect } from './anthropic/index.ts';
import { createCohereDialect } from './cohere/index.ts';
import { createFoundryDialect } from './foundry/index.ts';
import { createGeminiDialect } from './gemini/index.ts';
import { createNomicDialect } from './nomic/index.ts';
import { createOpenAiDialect } from './openai/index.ts';
import { createPineconeDialect } from './pinecone/index.ts';

/** Dialects by name. */
export interface Dialects {
  /** Undefined: no dialect has this name. */
  get(name: string): Dialect | undefined;
}

const load = createRequire(import.meta.url);
const BEDROCK = fileURLToPath(new URL('./bedrock/index.ts', import.meta.url));
const ORACLE = fileURLToPath(new URL('./oracle/index.ts', import.meta.url));
const TRITON = fileURLToPath(new URL('./triton/index.ts', import.meta.url));
const VERTEX = fileURLToPath(new URL('./vertex/index.ts', import.meta.url));

const MAKERS: Readonly<Record<string, (json: MessageJson) => Dialect>> = Object.freeze({
  openai: createOpenAiDialect,
  anthropic: createAnthropicDialect,
  cohere: createCohereDialect,
  gemini: createGeminiDialect,
  foundry: createFoundryDialect,
  nomic: createNomicDialect,
  oracle: (json) => (load(ORACLE) as typeof import('./oracle/index.ts')).createOracleDialect(json),
  triton: (json) => (load(TRITON) as typeof import('./triton/index.ts')).createTritonDialect(json),
  pinecone: createPineconeDialect,
  bedrock: (json) => (load(BEDROCK) as typeof import('./bedrock/index.ts')).createBedrockDialect(json),
  vertex: (json) => (load(VERTEX) as typeof import('./vertex/index.ts')).createVertexDialect(json),
});

/** Every dialect over the given JSON, made on first use. */
export function createDialects(json: MessageJson): Dialects {
  const made = new Map<string, Dialect>();
  return {
    get(name) {
      const known = made.get(name);
      if (known !== undefined || !Object.hasOwn(MAKERS, name)) return known;
      const dialect = MAKERS[name]!(json);
      made.set(name, dialect);
      return dialect;
    },
  };
}
