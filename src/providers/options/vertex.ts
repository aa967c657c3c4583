// Options of Google's Vertex AI.
import { type OptionSpec, text, texts } from './spec.ts';

const group = 'vertex';

export const VERTEX: readonly OptionSpec[] = [
  text('vertex_auth_type', {
    group,
    effect: 'account',
    required: { stored: true },
    oneOf: ['basic', 'serviceAccount', 'workload'],
    keylessWith: ['serviceAccount', 'workload'],
    virtualKey: { preset: 'basic' },
  }),
  text('vertex_region', { group, effect: 'address', required: {} }),
  text('vertex_project_id', { group, effect: 'account' }),
  {
    name: 'vertex_service_account_json',
    type: 'object',
    effect: 'account',
    group,
    required: { when: { option: 'vertex_auth_type', is: ['serviceAccount'] } },
    secret: true,
  },
  text('vertex_model_name', { group, effect: 'model' }),
  ...texts('vertex_storage_bucket_name vertex_batch_endpoint', { group, effect: 'account' }),
  { name: 'vertex_skip_ptu_cost_attribution', type: 'flag', effect: 'account', group },
  { name: 'vertex_map_metadata', type: 'flag', effect: 'none', group, from: ['stored'] },
];
