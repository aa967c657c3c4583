// Secrets of external managers, as the rest of the gateway asks for them.
import { Aborter } from '../lib/abort.ts';
import type { Dialer } from '../lib/egress/outbound.ts';
import { fail, GatewayError } from '../lib/errors.ts';
import { ownIdentityField } from './auth-rules.ts';
import { awsSecretsManager } from './aws/secrets-manager.ts';
import { azureKeyVault, isAzureVault } from './azure/key-vault.ts';
import { SecretCache } from './cache.ts';
import { environmentSecrets } from './environment.ts';
import { secretFailure } from './failure.ts';
import { fileSecrets } from './file.ts';
import { gcpSecretManager } from './gcp-secret-manager.ts';
import { hashicorpVault, KUBERNETES_TOKEN } from './hashicorp-vault.ts';
import type { AuthConfig, ManagerDeps, ManagerType, SecretManager } from './manager.ts';
import type { SecretReferenceDocument, SecretReferences } from './references.ts';
import type { SecretReferenceBody } from './secret-collections.ts';
import { memberOf } from './value.ts';

export interface SecretsDeps extends ManagerDeps {
  readonly dialer: Dialer;
  readonly references: SecretReferences;
  /** Exact names of variables that references may read. */
  readonly envAllow: readonly string[];
  /** Folders whose files references may read. */
  readonly fileAllow: readonly string[];
  /** Managers that may be asked with the gateway's own identity. */
  readonly ownIdentity: readonly string[];
  readonly lifetimeMs: number;
  /** Called with failed readings; the cached value is used where there is one. */
  readonly onTrouble: (error: unknown) => void;
  /** The longest wait for a manager, its login included, in milliseconds; 10,000 by default. */
  readonly deadlineMs?: number;
  /** Where the pod's token is; where Kubernetes puts it by default. */
  readonly kubernetesToken?: string;
  /** The vaults that receive tokens of the gateway's own Azure identity; Azure's by default. */
  readonly isAzureVault?: (url: string) => boolean;
}

/** What the operator has not allowed, by the field that asks for it. */
export interface ClosedFault {
  /** Of a reference as callers write it, e.g. `auth_config.vault_addr`. */
  readonly field: string;
  readonly message: string;
}

export interface Secrets {
  /**
   * The value of a reference, for model calls: at hand most of the time.
   * @param workspaceId whose call it is; undefined: the organisation's own
   * @param key the member to use instead of the reference's own
   * @throws GatewayError not_found for a reference that the workspace does not see; secret_unavailable
   */
  resolve(
    organisationId: string,
    workspaceId: string | undefined,
    idOrSlug: string,
    key?: string | undefined,
  ): Promise<string>;
  /** The hosts that a reference is bound to; undefined: it has none, or the workspace does not see it. */
  hostsOf(
    organisationId: string,
    workspaceId: string | undefined,
    idOrSlug: string,
  ): readonly string[] | undefined;
  /** Reads a reference's value past the cache. @throws GatewayError secret_unavailable, host_refused */
  test(reference: SecretReferenceDocument): Promise<void>;
  /** Why a reference can never be read with the present settings; undefined: it may be tried. */
  closedFault(manager: ManagerType, auth: AuthConfig, path: string): ClosedFault | undefined;
}

const DEADLINE_MS = 10_000;

/** Opens no connection and reads no variable before a secret is asked for. */
export function createSecrets(deps: SecretsDeps): Secrets {
  const { references, deadlineMs = DEADLINE_MS } = deps;
  const managers: Readonly<Record<ManagerType, SecretManager>> = {
    aws_sm: awsSecretsManager(deps),
    azure_kv: azureKeyVault(deps),
    hashicorp_vault: hashicorpVault({ ...deps, kubernetesToken: deps.kubernetesToken ?? KUBERNETES_TOKEN }),
    gcp_sm: gcpSecretManager(deps),
    env: environmentSecrets(deps, deps.envAllow),
    file: fileSecrets(deps.fileAllow),
  };
  const cache = new SecretCache(deps);
  // No value outlives its reference in memory.
  references.onGone((document) => cache.drop(keyOf(document)));

  function closedFault(manager: ManagerType, auth: AuthConfig, path: string): ClosedFault | undefined {
    if (manager === 'env' && !deps.envAllow.includes(path))
      return { field: 'secret_path', message: 'is no variable that the operator has listed' };
    if (manager === 'file' && deps.fileAllow.length === 0)
      return { field: 'manager_type', message: 'is closed: the operator has listed no folder' };
    return identityFault(deps, manager, auth);
  }

  async function read({ managerType, auth, path }: SecretReferenceBody): Promise<string> {
    if (auth === undefined) throw secretFailure('invalid', 'the login in the reference cannot be decrypted');
    const fault = closedFault(managerType, auth, path);
    if (fault !== undefined) throw secretFailure('closed', `${fault.field}: ${fault.message}`);
    const aborter = new Aborter();
    const late = secretFailure('outage', `the secret manager did not answer within ${deadlineMs} ms`);
    // Files of a share that hangs do not heed the signal.
    const { promise: overdue, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      aborter.abort(late);
      reject(late);
    }, deadlineMs);
    try {
      return await Promise.race([managers[managerType].read({ auth, path }, aborter), overdue]);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      // E.g. a variable of the gateway's own identity that is no URL, or a file of it that cannot be read.
      throw secretFailure('invalid', 'the secret manager cannot be asked', error);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async resolve(organisationId, workspaceId, idOrSlug, key) {
      const reference = references.find(organisationId, workspaceId, idOrSlug);
      if (reference === undefined) throw fail('not_found', `there is no secret reference ${idOrSlug}`);
      const member = key ?? reference.body.key;
      const take = (text: string): string => memberOf(text, member);
      return cache.get(keyOf(reference), () => read(reference.body), member, take);
    },

    hostsOf: (organisationId, workspaceId, idOrSlug) =>
      references.find(organisationId, workspaceId, idOrSlug)?.body.hosts,

    async test(reference) {
      const text = await cache.fresh(keyOf(reference), () => read(reference.body));
      memberOf(text, reference.body.key);
    },

    closedFault,
  };
}

/** The gateway's own identity is never sent to an address that a caller may choose. */
function identityFault(deps: SecretsDeps, manager: ManagerType, auth: AuthConfig): ClosedFault | undefined {
  const asked = ownIdentityField(manager, auth);
  if (asked === undefined) return undefined;
  const fault = (name: string, message: string) => ({ field: `auth_config.${name}`, message });
  if (!deps.ownIdentity.includes(manager))
    return fault(
      asked,
      "uses the gateway's own identity, which the operator has not opened for this manager",
    );
  const { azure_vault_url: vault = '', vault_addr: address = '' } = auth;
  if (manager === 'azure_kv' && !(deps.isAzureVault ?? isAzureVault)(vault))
    return fault('azure_vault_url', "must be a vault of Azure for the gateway's own identity");
  const own = deps.environment.VAULT_ADDR;
  if (manager === 'hashicorp_vault' && (!own || URL.parse(own)?.origin !== new URL(address).origin))
    return fault('vault_addr', "must be the gateway's own Vault (VAULT_ADDR)");
  return undefined;
}

/** A reference that was changed is another one. */
function keyOf({ organisationId, id, version }: SecretReferenceDocument): string {
  return `${organisationId} ${id} ${version}`;
}
