// The operations of model providers, by name.

/** What a dialect may offer. */
export const OPERATION_NAMES = [
  'chat',
  'completions',
  'embeddings',
  'moderations',
  'models',
  'model',
] as const;

export type OperationName = (typeof OPERATION_NAMES)[number];
