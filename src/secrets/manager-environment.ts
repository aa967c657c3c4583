// What of the process's environment secret managers see: variables that the operator listed, and those that say
// where managers are and who the gateway itself is.
import type { ManagerDeps } from './manager.ts';

/** Names as the managers' own tools know them. */
const KNOWN = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_ROLE_ARN',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
  'AWS_ENDPOINT_URL_STS',
  'AWS_ENDPOINT_URL_SECRETS_MANAGER',
  'AZURE_AUTHORITY_HOST',
  'AZURE_TENANT_ID',
  'AZURE_CLIENT_ID',
  'AZURE_CLIENT_SECRET',
  'AZURE_FEDERATED_TOKEN_FILE',
  'IDENTITY_ENDPOINT',
  'IDENTITY_HEADER',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'VAULT_ADDR',
  'CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER',
] as const;

/** @param listed GATEWAY_SECRET_ENV_ALLOW */
export function managerEnvironment(
  environment: ManagerDeps['environment'],
  listed: readonly string[],
): ManagerDeps['environment'] {
  const names = [...KNOWN, ...listed].filter((name) => Object.hasOwn(environment, name));
  return Object.fromEntries(names.map((name) => [name, environment[name]]));
}
