// Options of Oracle's Generative AI service.
import { type OptionSpec, text, texts } from './spec.ts';

export const ORACLE: readonly OptionSpec[] = [
  text('oracle_region', { effect: 'address', required: {} }),
  ...texts('oracle_tenancy oracle_user oracle_fingerprint', { effect: 'account', required: {} }),
  text('oracle_private_key', { effect: 'account', required: {}, secret: true }),
  text('oracle_key_passphrase', { effect: 'account', secret: true }),
  ...texts('oracle_compartment_id oracle_serving_mode oracle_api_version', { effect: 'account' }),
];
