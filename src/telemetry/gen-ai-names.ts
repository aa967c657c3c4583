// What the GenAI conventions call our operations and providers
// (https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/); what they have no word for keeps its own.
import { providerById } from '../providers/catalog/registry.ts';
import { operationOfMethod } from '../providers/operations.ts';

/**
 * `gen_ai.operation.name` of an attempt.
 * @param operation the contract's full name of the method
 * @param mode what the catalogue knows of the model: the cache's own embeddings are attempts of a chat
 */
export function operationNameOf(operation: string, mode: string | undefined): string {
  if (mode === 'embedding') return 'embeddings';
  const method = operation.slice(operation.indexOf('/') + 1);
  return operationOfMethod(method)?.genAiName ?? method.replaceAll(/(?<!^)[A-Z]/g, '_$&').toLowerCase();
}

/** `gen_ai.provider.name`. */
export function providerNameOf(id: string): string {
  return providerById(id)?.genAiName ?? id;
}
