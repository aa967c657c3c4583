// What the GenAI conventions call our operations and providers
// (https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/); what they have no word for keeps its own.

/** By the contract's method. Prompts are rendered into chats, nearly all of them. */
const OPERATIONS: Readonly<Record<string, string>> = {
  CreateChatCompletion: 'chat',
  StreamChatCompletion: 'chat',
  CreatePromptCompletion: 'chat',
  StreamPromptCompletion: 'chat',
  CreateCompletion: 'text_completion',
  StreamCompletion: 'text_completion',
  CreateEmbeddings: 'embeddings',
  CreateModeration: 'moderation',
  Forward: 'forward',
};

/** By the catalogue's id. */
const PROVIDERS: Readonly<Record<string, string>> = {
  'azure-openai': 'azure.ai.openai',
  'mistral-ai': 'mistral_ai',
  'perplexity-ai': 'perplexity',
  'x-ai': 'x_ai',
};

/**
 * `gen_ai.operation.name` of an attempt.
 * @param operation the contract's full name of the method
 * @param mode what the catalogue knows of the model: the cache's own embeddings are attempts of a chat
 */
export function operationNameOf(operation: string, mode: string | undefined): string {
  if (mode === 'embedding') return 'embeddings';
  const method = operation.slice(operation.indexOf('/') + 1);
  return OPERATIONS[method] ?? method.replaceAll(/(?<!^)[A-Z]/g, '_$&').toLowerCase();
}

/** `gen_ai.provider.name`. */
export function providerNameOf(id: string): string {
  return PROVIDERS[id] ?? id;
}
