// Azure Key Vault: https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret/get-secret
import { secretFailure } from '../failure.ts';
import type { ManagerDeps, SecretManager } from '../manager.ts';
import { ask, member, pathOf } from '../request.ts';
import { azureTokens } from './token.ts';

const API_VERSION = '7.4';
const PUBLIC_CLOUD = 'https://vault.azure.net';
/** What a token is for, by the end of the vault's host. */
const RESOURCES: Readonly<Record<string, string>> = {
  '.vault.azure.net': PUBLIC_CLOUD,
  '.vault.azure.cn': 'https://vault.azure.cn',
  '.vault.usgovcloudapi.net': 'https://vault.usgovcloudapi.net',
};

/** Whether a vault is Azure's: only such a one is shown a token of the gateway's own identity. */
export function isAzureVault(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' && Object.keys(RESOURCES).some((suffix) => hostname.endsWith(suffix));
}

/** The path is the secret's name, or name and version with a slash between. */
export function azureKeyVault(deps: ManagerDeps): SecretManager {
  const tokens = azureTokens(deps);
  return {
    async read({ auth, path }, signal) {
      const url = new URL(`/secrets/${pathOf(path)}?api-version=${API_VERSION}`, auth.azure_vault_url);
      const known = Object.entries(RESOURCES).find(([suffix]) => url.hostname.endsWith(suffix));
      const resource = known?.[1] ?? PUBLIC_CLOUD;
      const get = async () => {
        const token = await tokens.get(auth, resource, signal);
        const headers = ['authorization', `Bearer ${token}`];
        return ask(deps.dialer, { method: 'GET', url, headers, signal });
      };
      let reply = await get();
      if (reply.status === 401) {
        tokens.drop(auth, resource);
        reply = await get();
      }
      const { status, json } = reply;
      if (status === 404) throw secretFailure('missing', 'Azure Key Vault has no such secret');
      if (status === 403) throw secretFailure('denied', 'Azure Key Vault refuses access to the secret');
      const value = member(json, 'value');
      if (status !== 200 || typeof value !== 'string')
        throw secretFailure('invalid', `Azure Key Vault answers ${status} with something else than a secret`);
      return value;
    },
  };
}
