// Deployments: made, listed, changed, archived, with a maximum per type.
import { create } from '@bufbuild/protobuf';
import {
  type CreateDeploymentRequest,
  type DeleteDeploymentRequest,
  type DeleteDeploymentResponse,
  DeleteDeploymentResponseSchema,
  type Deployment,
  type DeploymentList,
  DeploymentListSchema,
  DeploymentSchema,
  type GetDeploymentRequest,
  type ListDeploymentsRequest,
  type UpdateDeploymentRequest,
  type UpdateDeploymentResponse,
  UpdateDeploymentResponseSchema,
} from '../../../gen/gateway/admin/v2/deployments_pb.ts';
import type { Directory } from '../../access/directory.ts';
import { type DeploymentBody, deployments, organisations } from '../../access/identity-collections.ts';
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import {
  type Condition,
  type Document,
  type DocumentStore,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { recordHead } from '../kit/record.ts';
import { resource, shownAs } from '../kit/resource.ts';
import { newSlug } from '../kit/slug.ts';

type DeploymentType = DeploymentBody['type'];

const MAXIMUM: Readonly<Record<DeploymentType, string>> = {
  production: 'max_production_deployments',
  'non-production': 'max_non_production_deployments',
};

/** The methods of DeploymentsService. */
export function deploymentsService(deps: IdentityDeps) {
  const { documents, directory } = deps;
  const stored = resource(deps, {
    collection: deployments,
    noun: 'deployment',
    shown: shownAs(DeploymentSchema, deploymentRecord),
  });
  const find = (call: Call, { deploymentId }: { readonly deploymentId: string }) =>
    stored.find(organisationOf(callerOf(call)), deploymentId);

  return withConflictRetries({
    async createDeployment(request: CreateDeploymentRequest, call: Call): Promise<Deployment> {
      const scope = organisationOf(callerOf(call));
      const type = request.type as DeploymentType;
      const body = defined<DeploymentBody>({
        name: request.name,
        description: request.description,
        type,
        workspaces: workspacesOf(directory, scope, request.workspaces),
      });
      const made = stored.draft(scope, body, { slug: newSlug(request.slug, 'dp', request.name, 10) });
      await stored.create(call, made, { also: await oneMore(documents, scope, type) });
      return deploymentRecord(made);
    },

    async listDeployments(request: ListDeploymentsRequest, call: Call): Promise<DeploymentList> {
      const filter: Condition[] =
        request.type === undefined ? [] : [{ field: 'type', op: 'eq', value: request.type }];
      const page = await stored.page(organisationOf(callerOf(call)), request, { filter });
      return create(DeploymentListSchema, { ...listHead(page), data: page.documents.map(deploymentRecord) });
    },

    async getDeployment(request: GetDeploymentRequest, call: Call): Promise<Deployment> {
      return deploymentRecord(await find(call, request));
    },

    async updateDeployment(request: UpdateDeploymentRequest, call: Call): Promise<UpdateDeploymentResponse> {
      const scope = organisationOf(callerOf(call));
      const before = await find(call, request);
      const fields = patch(request.clear, ['workspaces', 'description']);
      const type = fields.always('type', request.type as DeploymentType | undefined, before.body.type);
      const given = workspacesOf(directory, scope, request.workspaces);
      const body = defined<DeploymentBody>({
        name: fields.always('name', request.name, before.body.name),
        description: fields.optional('description', request.description, before.body.description),
        type,
        workspaces: fields.list('workspaces', given, before.body.workspaces) ?? [],
      });
      const also = type === before.body.type ? [] : await oneMore(documents, scope, type);
      await stored.update(call, before, stored.changed(before, body), { also });
      return create(UpdateDeploymentResponseSchema);
    },

    async deleteDeployment(request: DeleteDeploymentRequest, call: Call): Promise<DeleteDeploymentResponse> {
      await stored.archive(call, await find(call, request));
      return create(DeleteDeploymentResponseSchema);
    },
  });
}

/** Ids of the named workspaces. @throws GatewayError validation_failed */
function workspacesOf(
  directory: Directory,
  { organisationId }: TenantScope,
  given: readonly string[],
): string[] {
  const ids = given.map((idOrSlug, i) => {
    const found = directory.workspace(organisationId, idOrSlug);
    if (found === undefined) throw invalidField(`workspaces[${i}]`, 'is no workspace of the organisation');
    return found.id;
  });
  return [...new Set(ids)];
}

/**
 * Operations that one more of a type needs: the organisation is written too, so that of two that would reach
 * the maximum at once only one does. @throws GatewayError conflict at the maximum.
 */
async function oneMore(
  documents: DocumentStore,
  scope: TenantScope,
  type: DeploymentType,
): Promise<readonly WriteOperation[]> {
  const organisation = await documents.get(scope, organisations, scope.organisationId);
  const maximum = organisation?.body.settings?.[MAXIMUM[type]];
  if (organisation === undefined || typeof maximum !== 'number' || maximum < 0) return [];
  const page = await documents.page(scope, deployments, {
    filter: [{ field: 'type', op: 'eq', value: type }],
    pageSize: 1,
  });
  if (page.total >= maximum)
    throw fail('conflict', `the organisation may have ${maximum} ${type} deployments, and has them`);
  const change = { body: organisation.body, updatedAt: organisation.updatedAt };
  return [updateOperation(organisations, organisation.id, organisation.version, change)];
}

function deploymentRecord(document: Document<DeploymentBody>): Deployment {
  const { slug = '', organisationId, body } = document;
  return create(DeploymentSchema, {
    ...recordHead(document),
    object: 'deployment',
    slug,
    name: body.name,
    description: body.description,
    type: body.type,
    workspaces: [...body.workspaces],
    organisationId,
  });
}
