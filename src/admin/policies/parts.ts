// The common part of the services of both kinds of policies.
import { create } from '@bufbuild/protobuf';
import {
  type PolicyCondition as ConditionMessage,
  type PolicyGroup as GroupMessage,
  type PolicyCondition as PolicyConditionMessage,
  PolicyConditionSchema,
  PolicyGroupSchema,
  type PolicyValue,
  PolicyValueSchema,
} from '../../../gen/gateway/admin/v2/policies_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { Principal } from '../../call/principal.ts';
import { ASSUMED_OUTPUT_TOKENS } from '../../ledger/limits/estimate.ts';
import { type PolicyBody, type PolicyCondition, policyCollections } from '../../ledger/policies.ts';
import { fail, invalidField, validationFailed } from '../../lib/errors.ts';
import type { Collection } from '../../store/collection.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { scopeOf, targetWorkspace } from '../kit/caller.ts';

/** Conditions as they are stored. */
export function conditionsOf(given: readonly ConditionMessage[]): readonly PolicyCondition[] {
  return given.map(({ key, value, excludes }) => ({
    key,
    values: valuesOf(value),
    ...(excludes === undefined ? {} : { excludes: valuesOf(excludes) }),
  }));
}

/** Conditions as callers are shown them. */
export function conditionMessages(conditions: readonly PolicyCondition[]): PolicyConditionMessage[] {
  return conditions.map(({ key, values, excludes }) =>
    create(PolicyConditionSchema, {
      key,
      value: valueMessage(values),
      ...(excludes === undefined ? {} : { excludes: valueMessage(excludes) }),
    }),
  );
}

/** Keys to group by. @throws GatewayError validation_failed for one that is named twice. */
export function groupKeysOf(given: readonly GroupMessage[]): readonly string[] {
  const keys = given.map(({ key }) => key);
  const twice = keys.findIndex((key, i) => keys.indexOf(key) !== i);
  if (twice !== -1) throw invalidField(`group_by[${twice}].key`, 'is named twice');
  return keys;
}

/** Keys to group by as callers are shown them. */
export function groupMessages(keys: readonly string[]): GroupMessage[] {
  return keys.map((key) => create(PolicyGroupSchema, { key }));
}

/**
 * The workspace that a new policy is for; undefined: the organisation's own. Who comes without an API key names
 * both (specification, "Rate limits policy").
 * @throws GatewayError validation_failed.
 */
export function policyWorkspace(
  directory: Directory,
  caller: Principal,
  given: { readonly workspaceId?: string | undefined; readonly organisationId?: string | undefined },
): string | undefined {
  const { workspaceId, organisationId } = given;
  if (caller.token !== undefined) {
    if (!organisationId) throw invalidField('organisation_id', 'is needed without an API key', 'required');
    if (!workspaceId) throw invalidField('workspace_id', 'is needed without an API key', 'required');
  }
  if (organisationId !== undefined && organisationId.toLowerCase() !== caller.organisationId)
    throw invalidField('organisation_id', "is not the caller's organisation");
  return targetWorkspace(directory, caller, workspaceId);
}

/**
 * A policy that the caller may reach, of the given status (active by default).
 * @throws GatewayError not_found.
 */
export async function findPolicy<B extends object>(
  documents: DocumentStore,
  caller: Principal,
  collection: Collection<B>,
  id: string,
  status = 'active',
): Promise<Document<B>> {
  const found = await documents.get(scopeOf(caller), collection, id, { archived: status === 'archived' });
  if (found === undefined || found.status !== status) throw fail('not_found', `there is no policy ${id}`);
  return found;
}

/** @throws GatewayError validation_failed: requests make no tokens that would be assumed. */
export function checkAssumed({ type, assumedOutputTokens }: PolicyBody & { readonly type: string }): void {
  if (type === 'requests' && assumedOutputTokens !== undefined)
    throw invalidField('assumed_output_tokens', 'must not be given for requests');
}

/** Keys that only tool calls have. */
const TOOL_KEYS: ReadonlySet<string> = new Set(['mcp_server', 'mcp_tool']);

/** The target as it is kept. */
export function targetOf(given: string | undefined): { readonly target?: 'mcp_tools' } {
  return given === 'mcp_tools' ? { target: given } : {};
}

/**
 * That the keys and the type are those of the target's calls.
 * @throws GatewayError validation_failed.
 */
export function checkTarget({
  target,
  type,
  conditions,
  groupBy,
}: PolicyBody & { readonly type: string }): void {
  const fault = (key: string): string | undefined => {
    if (target === undefined) return TOOL_KEYS.has(key) ? 'needs the target mcp_tools' : undefined;
    return key === 'provider' ? 'is not for the target mcp_tools: a tool call has no provider' : undefined;
  };
  for (const [list, keys] of [
    ['conditions', conditions.map(({ key }) => key)],
    ['group_by', groupBy],
  ] as const)
    for (const [i, key] of keys.entries()) {
      const message = fault(key);
      if (message !== undefined) throw invalidField(`${list}[${i}].key`, `${key} ${message}`);
    }
  if (target === 'mcp_tools' && type === 'tokens')
    throw invalidField('type', 'must not be tokens with the target mcp_tools: tool calls make none');
}

/** @throws GatewayError validation_failed when an update names another target: it never changes. */
export function checkSameTarget(
  { target = 'llm' }: { readonly target?: string },
  given: string | undefined,
): void {
  if (given !== undefined && given !== target)
    throw invalidField('target', `is ${target} and never changes: make another policy`);
}

/** What a policy assumes, as callers are shown it. */
export function shownAssumed({
  type,
  assumedOutputTokens = ASSUMED_OUTPUT_TOKENS,
}: PolicyBody & { readonly type: string }): { assumedOutputTokens?: number } {
  return type === 'requests' ? {} : { assumedOutputTokens };
}

/** Active policies of an organisation, of both kinds: all of them may apply to one call. */
export const MOST_POLICIES = 900;

/** @throws GatewayError validation_failed when the organisation has as many as it may. */
export async function checkRoom(documents: DocumentStore, organisationId: string): Promise<void> {
  const totals = await Promise.all(
    policyCollections.map((collection) =>
      documents.page({ organisationId, workspaceId: undefined }, collection, { pageSize: 1 }),
    ),
  );
  if (totals.reduce((sum, { total }) => sum + total, 0) < MOST_POLICIES) return;
  throw validationFailed([
    {
      field: '',
      rule: 'max_policies',
      message: `the organisation has ${MOST_POLICIES} policies, which is the most: one policy counts any number of groups apart (group_by)`,
    },
  ]);
}

function valuesOf(value: PolicyValue | undefined): readonly string[] {
  const { kind } = value ?? { kind: { case: undefined } };
  if (kind.case === 'texts') return kind.value.values;
  return kind.case === 'text' ? [kind.value] : [];
}

function valueMessage(values: readonly string[]): PolicyValue {
  const [only] = values;
  return create(PolicyValueSchema, {
    kind:
      values.length === 1 && only !== undefined
        ? { case: 'text', value: only }
        : { case: 'texts', value: { values: [...values] } },
  });
}
