// HashiCorp Vault's key-value engines, both versions: https://developer.hashicorp.com/vault/api-docs/secret/kv
import { readFile } from 'node:fs/promises';
import type { AbortLike } from '../lib/abort.ts';
import { secretFailure } from './failure.ts';
import { type Lease, Leases } from './leases.ts';
import type { AuthConfig, ManagerDeps, SecretManager } from './manager.ts';
import { ask, member, pathOf, type Reply } from './request.ts';

/** Where Kubernetes puts the token of a pod's service account. */
export const KUBERNETES_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

interface VaultDeps extends ManagerDeps {
  readonly kubernetesToken: string;
}

/** The path is as the API takes it, e.g. `secret/data/openai`; the secret is the JSON of its members. */
export function hashicorpVault(deps: VaultDeps): SecretManager {
  const leases = new Leases<string>(deps.now);

  const call = (auth: AuthConfig, path: string, signal: AbortLike, token?: string, body?: object) =>
    ask(deps.dialer, {
      method: body === undefined ? 'GET' : 'POST',
      url: new URL(`/v1/${path}`, auth.vault_addr),
      headers: [
        'x-vault-request',
        'true',
        ...(token === undefined ? [] : ['x-vault-token', token]),
        ...(auth.vault_namespace ? ['x-vault-namespace', auth.vault_namespace] : []),
        ...(body === undefined ? [] : ['content-type', 'application/json']),
      ],
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal,
    });

  async function login(auth: AuthConfig, signal: AbortLike): Promise<Lease<string>> {
    const kubernetes = auth.vault_auth_type === 'kubernetes';
    const body = kubernetes
      ? { role: auth.vault_role, jwt: await podToken(deps.kubernetesToken) }
      : { role_id: auth.vault_role_id, secret_id: auth.vault_secret_id };
    const way = kubernetes ? 'kubernetes' : 'approle';
    const reply = await call(auth, `auth/${way}/login`, signal, undefined, body);
    const token = member(reply.json, 'auth', 'client_token');
    if (reply.status !== 200 || typeof token !== 'string')
      throw secretFailure(
        isRefusedLogin(reply) ? 'denied' : 'invalid',
        `Vault refuses the login by ${way} (${reply.status})`,
      );
    const seconds = Number(member(reply.json, 'auth', 'lease_duration')) || 300;
    return { token, expiresAt: deps.now() + seconds * 1000 };
  }

  const tokenOf = async (auth: AuthConfig, signal: AbortLike): Promise<string> =>
    auth.vault_auth_type === 'token' ? auth.vault_token! : leases.get(auth, () => login(auth, signal));

  return {
    async read({ auth, path }, signal) {
      const at = pathOf(path);
      let reply = await call(auth, at, signal, await tokenOf(auth, signal));
      if (reply.status === 403 && auth.vault_auth_type !== 'token') {
        // The token may have been revoked before its time.
        leases.drop(auth);
        reply = await call(auth, at, signal, await tokenOf(auth, signal));
      }
      return JSON.stringify(membersOf(reply));
    },
  };
}

/** Version 2 has the members, and facts about them, one level deeper. */
function membersOf({ status, json }: Reply): object {
  if (status === 404) throw secretFailure('missing', 'Vault has no such secret');
  if (status === 403) throw secretFailure('denied', 'Vault refuses access to the secret');
  const data = member(json, 'data');
  if (status !== 200 || typeof data !== 'object' || data === null)
    throw secretFailure('invalid', `Vault answers ${status} with something else than a secret`);
  const inner = member(data, 'data');
  const versioned = typeof inner === 'object' && typeof member(data, 'metadata') === 'object';
  if (!versioned) return data;
  if (inner === null) {
    const gone = member(data, 'metadata', 'deletion_time') || member(data, 'metadata', 'destroyed') === true;
    throw secretFailure(
      gone ? 'missing' : 'invalid',
      'the latest version of the secret was deleted in Vault',
    );
  }
  return inner as object;
}

/** Vault refuses a role or secret id that is not valid (any more) with a 400 that says so. */
function isRefusedLogin({ status, json }: Reply): boolean {
  if (status === 403) return true;
  const errors = member(json, 'errors');
  const texts = Array.isArray(errors) ? errors : [];
  return status === 400 && texts.some((text) => /^invalid (?:role|secret)/i.test(String(text)));
}

async function podToken(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw secretFailure('invalid', "the gateway has no Kubernetes service account's token", error);
  }
}
