// Options of single providers, and of those that configs may name although the catalogue has no literal of theirs yet.
import { type OptionSpec, text } from './spec.ts';

const ACCOUNT = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/;
const account = (name: string): OptionSpec =>
  text(name, {
    effect: 'address',
    required: {},
    pattern: [ACCOUNT, 'must be letters, digits, dots, underscores and hyphens, at most 128'],
  });

/** Hugging Face: the address of a dedicated endpoint, its base path (often /v1) included. */
export const HUGGINGFACE: readonly OptionSpec[] = [
  { name: 'huggingface_base_url', type: 'host', effect: 'address' },
];

/** Cloudflare Workers AI. */
export const WORKERS_AI: readonly OptionSpec[] = [account('workers_ai_account_id')];

/** Snowflake: the account's identifier, as it stands in its address; the kind of token, where it is no programmatic one. */
export const SNOWFLAKE: readonly OptionSpec[] = [
  account('snowflake_account'),
  text('snowflake_token_type', {
    effect: 'account',
    oneOf: ['KEYPAIR_JWT', 'OAUTH', 'PROGRAMMATIC_ACCESS_TOKEN'],
    sends: { header: 'x-snowflake-authorization-token-type' },
  }),
];

/** Databricks: the workspace, as it stands in its address ("dbc-a1b2345c-d6e7" of dbc-a1b2345c-d6e7.cloud.databricks.com). */
export const DATABRICKS: readonly OptionSpec[] = [account('databricks_workspace')];

/** Predibase. */
export const PREDIBASE: readonly OptionSpec[] = [
  account('predibase_tenant_id'),
  account('predibase_deployment'),
];

/** Stability AI, "Headers". */
export const STABILITY: readonly OptionSpec[] = [
  text('stability_client_id', { effect: 'account', sends: { header: 'stability-client-id' } }),
  text('stability_client_user_id', { effect: 'account', sends: { header: 'stability-client-user-id' } }),
  text('stability_client_version', { effect: 'account', sends: { header: 'stability-client-version' } }),
];

export const OTHERS: readonly OptionSpec[] = [
  text('anthropic_api_key', { effect: 'account', secret: true }),
  text('fireworks_account_id', { effect: 'address' }),
  { name: 'mistral_fim_completion', type: 'flag', effect: 'none' },
  text('byteplus_region', { effect: 'address', from: ['stored'] }),
];
