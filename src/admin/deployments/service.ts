// Deployments: made, listed, changed, archived, with a maximum per type.
import { randomUUID } from 'node:crypto';
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
import { type DeploymentBody, deployments, organisations } from '../../access/identity-collections.ts';
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { newSlug } from '../kit/slug.ts';
import { timeText } from '../kit/time.ts';

type DeploymentType = DeploymentBody['type'];

const MAXIMUM: Readonly<Record<DeploymentType, string>> = {
  production: 'max_production_deployments',
  'non-production': 'max_non_production_deployments',
};

/** The methods of DeploymentsService. */
export function deploymentsService({ documents, changes, directory, now }: IdentityDeps) {
  const find = async (call: Call, idOrSlug: string): Promise<Document<DeploymentBody>> => {
    const found = await documents.get(organisationOf(callerOf(call)), deployments, idOrSlug);
    if (found === undefined) throw fail('not_found', `there is no deployment ${idOrSlug}`);
    return found;
  };

  const workspacesOf = (organisationId: string, given: readonly string[]): string[] => [
    ...new Set(
      given.map((idOrSlug, i) => {
        const found = directory.workspace(organisationId, idOrSlug);
        if (found === undefined)
          throw invalidField(`workspaces[${i}]`, 'is no workspace of the organisation');
        return found.id;
      }),
    ),
  ];

  /**
   * Operations that one more of a type needs: the organisation is written too, so that of two that would reach
   * the maximum at once only one does. @throws GatewayError conflict at the maximum.
   */
  const oneMore = async (scope: TenantScope, type: DeploymentType): Promise<readonly WriteOperation[]> => {
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
  };

  return withConflictRetries({
    async createDeployment(request: CreateDeploymentRequest, call: Call): Promise<Deployment> {
      const scope = organisationOf(callerOf(call));
      const type = request.type as DeploymentType;
      const body = defined<DeploymentBody>({
        name: request.name,
        description: request.description,
        type,
        workspaces: workspacesOf(scope.organisationId, request.workspaces),
      });
      const id = randomUUID();
      const slug = newSlug(request.slug, 'dp', request.name, 10);
      const createdAt = now();
      const after = deploymentRecord({
        id,
        slug,
        createdAt,
        body,
        updatedAt: createdAt,
        version: 1,
        schemaVersion: 1,
        status: 'active',
        organisationId: scope.organisationId,
      });
      const insert = insertOperation(deployments, { id, slug, createdAt, body });
      const operations = [insert, ...(await oneMore(scope, type))];
      await changes.commit(call, scope, operations, { id, name: body.name, after: shown(after) });
      return after;
    },

    async listDeployments(request: ListDeploymentsRequest, call: Call): Promise<DeploymentList> {
      const filter: Condition[] =
        request.type === undefined ? [] : [{ field: 'type', op: 'eq', value: request.type }];
      const page = await documents.page(organisationOf(callerOf(call)), deployments, {
        ...newestFirst(request),
        filter,
      });
      return create(DeploymentListSchema, { ...listHead(page), data: page.documents.map(deploymentRecord) });
    },

    async getDeployment(request: GetDeploymentRequest, call: Call): Promise<Deployment> {
      return deploymentRecord(await find(call, request.deploymentId));
    },

    async updateDeployment(request: UpdateDeploymentRequest, call: Call): Promise<UpdateDeploymentResponse> {
      const scope = organisationOf(callerOf(call));
      const before = await find(call, request.deploymentId);
      const fields = patch(request.clear, ['workspaces', 'description']);
      const type = fields.always('type', request.type as DeploymentType | undefined, before.body.type);
      const given = workspacesOf(scope.organisationId, request.workspaces);
      const body = defined<DeploymentBody>({
        name: fields.always('name', request.name, before.body.name),
        description: fields.optional('description', request.description, before.body.description),
        type,
        workspaces: fields.list('workspaces', given, before.body.workspaces) ?? [],
      });
      const updatedAt = now();
      const operations = [
        updateOperation(deployments, before.id, before.version, { body, updatedAt }),
        ...(type === before.body.type ? [] : await oneMore(scope, type)),
      ];
      await changes.commit(call, scope, operations, {
        id: before.id,
        name: body.name,
        before: shown(deploymentRecord(before)),
        after: shown(deploymentRecord({ ...before, body, updatedAt })),
      });
      return create(UpdateDeploymentResponseSchema);
    },

    async deleteDeployment(request: DeleteDeploymentRequest, call: Call): Promise<DeleteDeploymentResponse> {
      const before = await find(call, request.deploymentId);
      const order = { version: before.version, updatedAt: now() };
      await changes.commit(
        call,
        organisationOf(callerOf(call)),
        [archiveOperation(deployments, before.id, order)],
        { id: before.id, name: before.body.name, before: shown(deploymentRecord(before)) },
      );
      return create(DeleteDeploymentResponseSchema);
    },
  });
}

function deploymentRecord(document: Document<DeploymentBody>): Deployment {
  const { id, slug, organisationId, status, createdAt, updatedAt, body } = document;
  return create(DeploymentSchema, {
    object: 'deployment',
    id,
    slug: slug ?? '',
    name: body.name,
    ...(body.description === undefined ? {} : { description: body.description }),
    type: body.type,
    workspaces: [...body.workspaces],
    status,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    organisationId,
  });
}

function shown(record: Deployment): JsonObject {
  return codec.encode(DeploymentSchema, record) as JsonObject;
}
