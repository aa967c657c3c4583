// What the GenAI conventions call our operations and providers
// (https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/); what they have no word for keeps its own.
import { providerById } from '../providers/catalog/registry.ts';

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
  return providerById(id)?.genAiName ?? id;
}
