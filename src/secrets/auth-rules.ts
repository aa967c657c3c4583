// What each manager's `auth_config` is made of, as data: the ways to prove who asks, and which fields each has.
import type { AuthConfig, ManagerType } from './manager.ts';

interface Way {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** Whether the gateway's own identity is used, unless the named fields are given. */
  readonly own?: readonly string[];
}

interface Rules {
  /** The field that names the way; undefined: there is one way only. */
  readonly by?: string;
  /** The way when none is named. */
  readonly usual?: string;
  readonly ways: Readonly<Record<string, Way>>;
}

const AWS_KEYS = ['aws_access_key_id', 'aws_secret_access_key'];
const NOTHING: Rules = { ways: { '': { required: [], optional: [] } } };

const RULES: Readonly<Record<ManagerType, Rules>> = {
  aws_sm: {
    by: 'aws_auth_type',
    ways: {
      accessKey: { required: [...AWS_KEYS, 'aws_region'], optional: [] },
      assumedRole: {
        required: ['aws_role_arn', 'aws_region'],
        optional: ['aws_external_id', ...AWS_KEYS],
        own: AWS_KEYS,
      },
      serviceRole: { required: [], optional: ['aws_region'], own: [] },
    },
  },
  azure_kv: {
    by: 'azure_auth_mode',
    ways: {
      entra: {
        required: [
          'azure_entra_tenant_id',
          'azure_entra_client_id',
          'azure_entra_client_secret',
          'azure_vault_url',
        ],
        optional: [],
      },
      managed: { required: ['azure_vault_url'], optional: ['azure_managed_client_id'], own: [] },
      default: { required: ['azure_vault_url'], optional: [], own: [] },
    },
  },
  hashicorp_vault: {
    by: 'vault_auth_type',
    ways: {
      token: { required: ['vault_addr', 'vault_token'], optional: ['vault_namespace'] },
      approle: {
        required: ['vault_addr', 'vault_role_id', 'vault_secret_id'],
        optional: ['vault_namespace'],
      },
      kubernetes: { required: ['vault_addr', 'vault_role'], optional: ['vault_namespace'], own: [] },
    },
  },
  gcp_sm: {
    by: 'gcp_auth_type',
    usual: 'serviceAccount',
    ways: {
      serviceAccount: { required: ['gcp_service_account_json'], optional: ['gcp_project_id'] },
    },
  },
  env: NOTHING,
  file: NOTHING,
};

/** Fields that are credentials, or say too much of them to be shown. */
export const MASKED_FIELDS: ReadonlySet<string> = new Set([
  'aws_secret_access_key',
  'aws_access_key_id',
  'aws_role_arn',
  'aws_external_id',
  'azure_entra_client_secret',
  'vault_token',
  'vault_secret_id',
  'gcp_service_account_json',
]);

/** Fields that are addresses, called with what the others hold. */
export const ADDRESS_FIELDS = ['vault_addr', 'azure_vault_url'] as const;

/** A field that is not as it should be; '' is the config as a whole. */
export interface AuthFault {
  readonly field: string;
  readonly message: string;
}

/**
 * A config with the fields of its way alone, or what is wrong with it.
 * @param given names of the fields that the caller just wrote: of them none may be foreign to the way, while older
 * ones are dropped when the way changes
 */
export function checkedAuth(
  manager: ManagerType,
  config: AuthConfig,
  given: ReadonlySet<string>,
): { readonly auth: AuthConfig } | { readonly fault: AuthFault } {
  const { by, usual = '', ways } = RULES[manager];
  const name = by === undefined ? '' : (config[by] ?? usual);
  const way = Object.hasOwn(ways, name) ? ways[name] : undefined;
  if (way === undefined)
    return { fault: { field: by ?? '', message: `must be one of ${Object.keys(ways).join(', ')}` } };
  const known = new Set([...(by === undefined ? [] : [by]), ...way.required, ...way.optional]);
  const foreign = [...given].find((field) => !known.has(field));
  if (foreign !== undefined)
    return { fault: { field: foreign, message: `is no field of ${name || manager}` } };
  const missing = way.required.find((field) => !config[field]);
  if (missing !== undefined) return { fault: { field: missing, message: 'is required' } };
  const half = AWS_KEYS.filter((field) => known.has(field) && config[field]);
  if (half.length === 1)
    return { fault: { field: AWS_KEYS.find((field) => field !== half[0])!, message: 'is required' } };
  const kept = Object.entries(config).filter(([field, value]) => known.has(field) && value !== '');
  return { auth: { ...Object.fromEntries(kept), ...(by === undefined ? {} : { [by]: name }) } };
}

/** Whether the gateway's own identity would be used; the field that says so. */
export function ownIdentityField(manager: ManagerType, auth: AuthConfig): string | undefined {
  const { by, ways } = RULES[manager];
  const own = by === undefined ? undefined : ways[auth[by] ?? '']?.own;
  if (own === undefined) return undefined;
  return own.length > 0 && own.every((field) => auth[field]) ? undefined : by;
}
