// NVIDIA Triton Inference Server, "Generate Extension": served by the user, so that a custom host is required.
import type { ProviderEntry } from '../dialect.ts';

export const triton: ProviderEntry = {
  id: 'triton',
  name: 'Triton Inference Server',
  dialect: 'triton',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'unasked',
  operations: ['completions'],
};
