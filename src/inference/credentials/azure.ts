// Tokens of Microsoft Entra for Azure's model services, in place of a key.
import { Aborter } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';
import type { Target } from '../../providers/dialect.ts';
import { optionError } from '../../providers/options/named.ts';
import { azureTokens } from '../../secrets/azure/token.ts';
import { faultOf } from '../../secrets/failure.ts';
import { arriving } from '../pipeline/arriving.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { CredentialDeps, Identity } from './identity.ts';
import { checkOwnIdentity } from './own-identity.ts';

const MODE = 'azure_auth_mode';
/** Hosts that Azure gives to its customers' resources. */
const CLOUD = /^https:\/\/[a-z0-9.-]+\.(?:azure\.com|azure\.us|azure\.cn|windows\.net)(?::443)?(?:\/|$)/i;
const RESOURCE = 'https://cognitiveservices.azure.com';
const SCOPE = /^https:\/\/[A-Za-z0-9.-]{1,255}(?:\/\.default)?\/?$/;
const TOKEN = /^[\x21-\x7e]{1,16384}$/;
/** How long a token may be waited for. */
const DEADLINE_MS = 10_000;

/**
 * By `azure_auth_mode`: `entra` asks with the given application's secret, `managed` and `workload` with the gateway's
 * own identity, `default` sends the key as it is, or `azure_ad_token` where there is one.
 */
export function azureIdentity(deps: CredentialDeps): Identity {
  const tokens = azureTokens(deps);
  const fetched = async (bound: BoundTarget): Promise<string> => {
    const auth = authOf(deps, bound);
    const aborter = new Aborter();
    const late = fail(
      'upstream_timeout',
      `Microsoft Entra gave no token within ${DEADLINE_MS / 1000} seconds`,
    );
    const timer = setTimeout(() => aborter.abort(late), DEADLINE_MS);
    try {
      return await tokens.get(auth, resourceOf(bound.target), aborter);
    } catch (error) {
      if (aborter.aborted) throw late;
      if (faultOf(error) === 'outage')
        throw fail('upstream_unreachable', 'Microsoft Entra does not answer', { cause: error });
      throw fail('upstream_status', 'Microsoft Entra gives no token for this identity', {
        status: 401,
        code: 'token_refused',
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
  };
  return (bound, request) => {
    const { azure_auth_mode: mode, azure_ad_token: given } = bound.target.options;
    if (mode === undefined || mode === '' || mode === 'default') {
      if (!given) return undefined;
      if (!TOKEN.test(given))
        throw optionError(bound.target.provider, 'azure_ad_token', 'must be printable ASCII');
      return Promise.resolve(withToken(given));
    }
    return arriving(fetched(bound), request.signal).then(withToken);
  };
}

function withToken(token: string) {
  return { headers: ['authorization', `Bearer ${token}`] };
}

/** What the login needs, under the names of Azure's secret manager. */
function authOf(deps: CredentialDeps, bound: BoundTarget): Readonly<Record<string, string>> {
  const { options } = bound.target;
  if (options.azure_auth_mode === 'entra') return applicationOf(bound.target);
  checkOwnIdentity(deps, bound, 'azure', MODE);
  checkCloud(bound.target);
  const client = options.azure_managed_client_id || options.azure_workload_client_id;
  return { azure_auth_mode: 'managed', ...(client ? { azure_managed_client_id: client } : {}) };
}

/** The address of a Foundry resource is whatever the stored provider says. */
function checkCloud({ provider, options: { azure_foundry_url: url } }: Target): void {
  if (url !== undefined && !CLOUD.test(url))
    throw optionError(provider, MODE, "needs the gateway's own identity, which goes to Azure's hosts only");
}

function applicationOf({ provider, options }: Target): Readonly<Record<string, string>> {
  const names = ['azure_entra_tenant_id', 'azure_entra_client_id', 'azure_entra_client_secret'] as const;
  const given = names.map((name) => {
    const value = options[name];
    if (!value) throw optionError(provider, name, 'is required with entra');
    return [name, value] as const;
  });
  return { azure_auth_mode: 'entra', ...Object.fromEntries(given) };
}

/** What the token is for: `azure_entra_scope` without its usual ending, else Azure's model services. */
function resourceOf({ provider, options: { azure_entra_scope: scope } }: Target): string {
  if (!scope) return RESOURCE;
  if (!SCOPE.test(scope))
    throw optionError(provider, 'azure_entra_scope', `must be an https address, e.g. ${RESOURCE}/.default`);
  return scope.replace(/\/(?:\.default)?\/?$/, '');
}
