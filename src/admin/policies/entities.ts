// The entities of usage-limit policies, which are counted apart: found, read, set to zero.
import { create } from '@bufbuild/protobuf';
import {
  type UsageLimitEntity,
  UsageLimitEntitySchema,
  type UsageLimitGroup,
  UsageLimitGroupSchema,
} from '../../../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import type { TenantScope } from '../../call/scope.ts';
import { type Groups, MOST_GROUPS } from '../../ledger/limits/groups.ts';
import { groupRule } from '../../ledger/limits/policy-set.ts';
import type { Usage, UsageReader } from '../../ledger/limits/usage.ts';
import {
  type UsageLimitEntityBody,
  type UsageLimitPolicyBody,
  usageLimitEntities,
} from '../../ledger/policies.ts';
import { fail } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  type Condition,
  type Document,
  type DocumentStore,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import { everyDocument } from '../../store/every-document.ts';
import { timeText } from '../kit/time.ts';

type Policy = Document<UsageLimitPolicyBody>;
type Entity = Document<UsageLimitEntityBody>;

/** What reading entities needs. */
export interface EntitiesDeps {
  readonly documents: DocumentStore;
  readonly usage: UsageReader;
  /** Makes all counted entities readable. */
  readonly groups: Pick<Groups, 'flush'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** An entity with its usage. */
export interface ReadEntity {
  readonly document: Entity;
  readonly usage: Usage;
}

/** Entities whose usage is read at once. */
const AT_ONCE = 200;
const PAGE = 1000;

/** A policy's entities, newest first. @param search in their value keys @param most the most that are returned */
export async function findEntities(
  { documents, groups }: EntitiesDeps,
  policy: Policy,
  search: string | undefined,
  most = MOST_GROUPS,
): Promise<readonly Entity[]> {
  await groups.flush();
  const filter: Condition[] = [{ field: 'policyId', op: 'eq', value: policy.id }];
  if (search !== undefined) filter.push({ field: 'valueKey', op: 'contains', value: search });
  const found: Entity[] = [];
  const sort = { field: 'createdAt', order: 'desc' } as const;
  const query = { filter, sort, pageSize: Math.min(PAGE, most) };
  for await (const entity of everyDocument(documents, scopeOf(policy), usageLimitEntities, query)) {
    found.push(entity);
    if (found.length >= most) break;
  }
  return found;
}

/** One of a policy's entities. @throws GatewayError not_found. */
export async function findEntity(
  { documents, groups }: EntitiesDeps,
  policy: Policy,
  id: string,
): Promise<Entity> {
  await groups.flush();
  const found = await documents.get(scopeOf(policy), usageLimitEntities, id);
  if (found === undefined || found.body.policyId !== policy.id)
    throw fail('not_found', `the policy has no entity ${id}`);
  return found;
}

/** The entity of a value key. Undefined: nothing was counted for it. */
export async function findByValueKey(
  { documents, groups }: EntitiesDeps,
  policy: Policy,
  valueKey: string,
): Promise<Entity | undefined> {
  await groups.flush();
  const page = await documents.page(scopeOf(policy), usageLimitEntities, {
    filter: [
      { field: 'policyId', op: 'eq', value: policy.id },
      { field: 'valueKey', op: 'eq', value: valueKey },
    ],
    pageSize: 1,
  });
  return page.documents[0];
}

/** Entities with their usage now. @throws GatewayError store_unavailable. */
export async function readEntities(
  { usage }: EntitiesDeps,
  policy: Policy,
  entities: readonly Entity[],
): Promise<readonly ReadEntity[]> {
  const read: ReadEntity[] = [];
  for (let i = 0; i < entities.length; i += AT_ONCE) {
    const part = entities.slice(i, i + AT_ONCE);
    const states = await Promise.all(part.map((entity) => readOne(usage, policy, entity)));
    read.push(...states);
  }
  return read;
}

/** The write that records a reset, and its audit entry. */
export function resetNote(entity: Entity, at: number): WriteOperation {
  const body = { ...entity.body, resetAt: at };
  return updateOperation(usageLimitEntities, entity.id, entity.version, { body, updatedAt: at });
}

/** @throws GatewayError conflict for an entity that is counted together with others, store_unavailable */
export async function checkReset({ usage }: EntitiesDeps, policy: Policy, entity: Entity): Promise<void> {
  await usage.checkReset(policy.organisationId, groupRule(policy, entity.body.group));
}

/** Sets an entity's usage to zero. @throws GatewayError store_unavailable. */
export async function resetEntity({ usage }: EntitiesDeps, policy: Policy, entity: Entity): Promise<void> {
  await usage.reset(policy.organisationId, groupRule(policy, entity.body.group));
}

/** What callers are shown of an entity. */
export function entityRecord({ document, usage }: ReadEntity): UsageLimitEntity {
  const last = Math.max(document.body.resetAt ?? 0, usage.lastResetAt ?? 0);
  return create(UsageLimitEntitySchema, {
    id: document.id,
    valueKey: document.body.valueKey,
    currentUsage: usage.current,
    status: statusOf(usage),
    ...(last === 0 ? {} : { lastResetAt: timeText(last) }),
  });
}

/** The same as audit entries tell it. */
export function shownEntity(entity: ReadEntity): JsonObject {
  return codec.encode(UsageLimitEntitySchema, entityRecord(entity)) as JsonObject;
}

/** Usage by value key. */
export function usageMap(entities: readonly ReadEntity[]): Record<string, UsageLimitGroup> {
  return Object.fromEntries(
    entities.map(({ document, usage }) => [
      document.body.valueKey,
      create(UsageLimitGroupSchema, {
        currentUsage: usage.current,
        status: statusOf(usage),
        isThresholdAlertsSent: usage.thresholdAlertSent,
        isExhaustedAlertsSent: usage.exhaustedAlertSent,
      }),
    ]),
  );
}

export function statusOf({ exhausted }: Usage): 'active' | 'exhausted' {
  return exhausted ? 'exhausted' : 'active';
}

async function readOne(usage: UsageReader, policy: Policy, document: Entity): Promise<ReadEntity> {
  const { organisationId } = policy;
  const state = await usage.read(organisationId, groupRule(policy, document.body.group));
  if (state === undefined)
    throw fail('store_unavailable', 'the shared store does not answer: usage is not known');
  return { document, usage: state };
}

function scopeOf({ organisationId, workspaceId }: Policy): TenantScope {
  return { organisationId, workspaceId };
}
