// Which families of operations a provider publishes in OpenAI's form: its literal lists them in `native`.
import {
  ASSISTANTS,
  BATCHES,
  CONTAINERS,
  CONVERSATIONS,
  FILES,
  FINE_TUNING,
  UPLOADS,
  VECTOR_STORES,
  VIDEOS,
} from './relayed-rows.ts';

export { BATCHES, FILES };

/** Files, and batches of them. */
export const FILES_AND_BATCHES = [...FILES, ...BATCHES] as const;

/** Jobs without pauses and checkpoints, as others than OpenAI have them. */
export const PLAIN_FINE_TUNING = [
  'createFineTuningJob',
  'listFineTuningJobs',
  'getFineTuningJob',
  'cancelFineTuningJob',
] as const;

/** All that OpenAI publishes. */
export const ALL_FAMILIES = [
  ...FILES_AND_BATCHES,
  ...UPLOADS,
  ...FINE_TUNING,
  ...VECTOR_STORES,
  ...ASSISTANTS,
  ...VIDEOS,
  ...CONTAINERS,
  ...CONVERSATIONS,
] as const;
