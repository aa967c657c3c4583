// A secret reference's body, made of what callers ask for.
import type {
  CreateSecretReferenceRequest,
  UpdateSecretReferenceRequest,
} from '../../../gen/gateway/admin/v2/secret_references_pb.ts';
import type { Directory } from '../../access/directory.ts';
import { invalidField } from '../../lib/errors.ts';
import type { ManagerType } from '../../secrets/manager.ts';
import type { SecretReferenceBody } from '../../secrets/secret-collections.ts';
import type { JsonObject } from '../../store/collection.ts';
import { defined, patch } from '../kit/patch.ts';
import { changedTags, tagged } from '../kit/tags.ts';
import { authOf, type SecretAuthDeps } from './auth.ts';

export interface SecretBodyDeps extends SecretAuthDeps {
  readonly directory: Directory;
}

type Visibility = Pick<
  CreateSecretReferenceRequest | UpdateSecretReferenceRequest,
  'allowAllWorkspaces' | 'allowedWorkspaces' | 'clear'
>;

/** The body of a reference to be. @throws GatewayError validation_failed, host_refused. */
export function newSecretBody(
  deps: SecretBodyDeps,
  organisationId: string,
  createdBy: string,
  slug: string,
  request: CreateSecretReferenceRequest,
): SecretReferenceBody {
  const managerType = request.managerType as ManagerType;
  const given = (request.authConfig ?? {}) as JsonObject;
  return defined<SecretReferenceBody>({
    name: request.name,
    description: request.description,
    managerType,
    auth: authOf(deps, managerType, request.secretPath, given),
    path: request.secretPath,
    key: request.secretKey,
    workspaces: workspacesOf(deps.directory, organisationId, request, undefined),
    hosts: hostsOf(request.allowedHosts),
    ...tagged(request.tags),
    searchText: searchText(request.name, slug),
    createdBy,
  });
}

const CLEARABLE = ['description', 'secret_key', 'tags', 'allowed_workspaces', 'allowed_hosts', 'auth_config'];

/** The body after an update. @throws GatewayError validation_failed, also when nothing is to change; host_refused. */
export function changedSecretBody(
  deps: SecretBodyDeps,
  organisationId: string,
  slug: string,
  before: SecretReferenceBody,
  request: UpdateSecretReferenceRequest,
): SecretReferenceBody {
  const fields = patch(request.clear, CLEARABLE);
  checkSomething(request);
  const name = fields.always('name', request.name, before.name);
  const path = fields.always('secret_path', request.secretPath, before.path);
  const given = (request.authConfig ?? {}) as JsonObject;
  return defined<SecretReferenceBody>({
    name,
    description: fields.optional('description', request.description, before.description),
    managerType: before.managerType,
    auth: authOf(deps, before.managerType, path, given, before.auth),
    path,
    key: fields.optional('secret_key', request.secretKey, before.key),
    workspaces: workspacesOf(deps.directory, organisationId, request, before.workspaces),
    hosts: fields.optional('allowed_hosts', hostsOf(request.allowedHosts), before.hosts),
    ...changedTags(before, request.tags, fields.cleared('tags')),
    searchText: searchText(name, slug),
    createdBy: before.createdBy,
  });
}

function hostsOf(given: readonly string[]): readonly string[] | undefined {
  return given.length === 0 ? undefined : [...new Set(given.map((host) => host.toLowerCase()))];
}

/** The text that lists search, in any letter case. */
export function searchText(name: string, slug: string): string {
  return `${name}\n${slug}`.toLowerCase();
}

function checkSomething(request: UpdateSecretReferenceRequest): void {
  const { name, description, authConfig, secretPath, secretKey, allowAllWorkspaces } = request;
  const single = [name, description, secretPath, secretKey, allowAllWorkspaces];
  const many = [
    authConfig ?? {},
    request.allowedWorkspaces,
    request.allowedHosts,
    request.tags,
    request.clear,
  ];
  if (single.every((value) => value === undefined) && many.every((value) => Object.keys(value).length === 0))
    throw invalidField('', 'there is nothing to change', 'required');
}

/** Ids of the workspaces that see it; undefined: all do. */
function workspacesOf(
  directory: Directory,
  organisationId: string,
  { allowAllWorkspaces: all, allowedWorkspaces: named, clear }: Visibility,
  before: readonly string[] | undefined,
): readonly string[] | undefined {
  if (named.length > 0) {
    if (all === true)
      throw invalidField('allowed_workspaces', 'cannot go with allow_all_workspaces', 'exclusive');
    const ids = named.map((idOrSlug, i) => {
      const found = directory.workspace(organisationId, idOrSlug);
      if (found === undefined)
        throw invalidField(`allowed_workspaces[${i}]`, 'is no workspace of the organisation');
      return found.id;
    });
    return [...new Set(ids)];
  }
  if (all === true) return undefined;
  const emptied = clear.includes('allowed_workspaces');
  if (emptied || (all === false && before === undefined))
    throw invalidField('allowed_workspaces', 'must name a workspace', 'min_items');
  return before;
}
