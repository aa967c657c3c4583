// Google's identities: an access token as it is given, a service account, an external account (workload identity
// federation), or the process's own of GOOGLE_APPLICATION_CREDENTIALS.
import { readFile } from 'node:fs/promises';
import { fail } from '../../lib/errors.ts';
import { vertexAi } from '../../providers/catalog/vertex-ai.ts';
import { parsedObject, textOf } from '../../providers/json-object.ts';
import { optionError } from '../../providers/options/named.ts';
import { type Lease, Leases } from '../../secrets/leases.ts';
import { arriving } from '../pipeline/arriving.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { accountLogin } from './google-account.ts';
import { federation, isExternal } from './google-federation.ts';
import { accountError } from './google-token.ts';
import type { CredentialDeps, Identity } from './identity.ts';
import { checkOwnIdentity } from './own-identity.ts';

const TYPE = 'vertex_auth_type';
const ACCOUNT = 'vertex_service_account_json';
const OWN = 'GOOGLE_APPLICATION_CREDENTIALS';
const PROJECT = /^[a-z0-9.:-]{1,100}$/;

/** Who logs in, and how. */
interface Login {
  readonly who: unknown;
  readonly login: () => Promise<Lease<string>>;
  /** Flat pairs of further headers. */
  readonly headers: readonly string[];
}

/**
 * By `vertex_auth_type`: `basic` sends the access token as it is, `serviceAccount` logs in with the given JSON, of a
 * service account or of an external account, and `workload` with that or with the process's own. Without it the JSON
 * logs in where there is one.
 */
export function googleTokens(deps: CredentialDeps): Identity {
  const leases = new Leases<string>(deps.now);
  return (bound, request) => {
    const found = loginOf(deps, bound);
    return (
      found &&
      arriving(leases.get(found.who, found.login), request.signal).then((token) => ({
        headers: ['authorization', `Bearer ${token}`, ...found.headers],
      }))
    );
  };
}

const NONE: readonly string[] = Object.freeze([]);

function loginOf(deps: CredentialDeps, bound: BoundTarget): Login | undefined {
  const { vertex_auth_type: type, vertex_service_account_json: text } = bound.target.options;
  if (type === 'basic') return undefined;
  if (text) return givenLogin(deps, bound, text);
  if (type === 'workload') return ownLogin(deps, bound);
  if (type === 'serviceAccount') throw optionError(vertexAi, ACCOUNT, 'is required with serviceAccount');
  return undefined;
}

/** Read first, so that what is broken is the caller's fault each time. */
function givenLogin(deps: CredentialDeps, bound: BoundTarget, text: string): Login {
  const json = parsedObject(text);
  if (json === undefined) throw accountError('must be the JSON of a service account or an external account');
  if (!isExternal(json)) return { who: text, login: accountLogin(deps, json), headers: NONE };
  const { isOwn, login } = federation(deps, json, false);
  if (isOwn) checkOwnIdentity(deps, bound, 'vertex', ACCOUNT);
  const quota = textOf(json.quota_project_id);
  const headers = quota === undefined || !PROJECT.test(quota) ? NONE : ['x-goog-user-project', quota];
  return { who: text, login, headers };
}

/** The process's own, as Google's libraries find it; metadata services are never asked. */
function ownLogin(deps: CredentialDeps, bound: BoundTarget): Login {
  checkOwnIdentity(deps, bound, 'vertex', TYPE);
  const path = deps.environment[OWN];
  if (!path) throw optionError(vertexAi, TYPE, `needs ${OWN} in the gateway's environment`);
  return { who: [OWN, path], login: () => ownToken(deps, path), headers: NONE };
}

async function ownToken(deps: CredentialDeps, path: string): Promise<Lease<string>> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw fail('secret_unavailable', `the file of ${OWN} cannot be read`, { cause });
  });
  const json = parsedObject(text);
  if (json === undefined) throw fail('secret_unavailable', `the file of ${OWN} is no JSON`);
  return isExternal(json) ? federation(deps, json, true).login() : accountLogin(deps, json)();
}
