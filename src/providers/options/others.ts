// Options of single providers that configs may name although the catalogue has no literal of theirs; a literal that
// comes takes its own from here.
import { type OptionSpec, text } from './spec.ts';

export const OTHERS: readonly OptionSpec[] = [
  text('anthropic_api_key', { effect: 'account', secret: true }),
  text('workers_ai_account_id', { effect: 'address', required: {} }),
  { name: 'huggingface_base_url', type: 'host', effect: 'address' },
  text('stability_client_id', { effect: 'account', sends: { header: 'stability-client-id' } }),
  text('stability_client_user_id', { effect: 'account', sends: { header: 'stability-client-user-id' } }),
  text('stability_client_version', { effect: 'account', sends: { header: 'stability-client-version' } }),
  text('fireworks_account_id', { effect: 'address' }),
  text('snowflake_account', { effect: 'address', required: {} }),
  { name: 'mistral_fim_completion', type: 'flag', effect: 'none' },
  text('byteplus_region', { effect: 'address', from: ['stored'] }),
];
