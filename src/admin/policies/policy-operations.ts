// What the services of both kinds of policies do alike.
import type { PolicyCondition, PolicyGroup } from '../../../gen/gateway/admin/v2/policies_pb.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { PolicyBody } from '../../ledger/policies.ts';
import type { Collection, JsonObject } from '../../store/collection.ts';
import type { Condition, Document, DocumentPage } from '../../store/documents.ts';
import { type BoundRule, bounded, setAboveCaller, setByHigher } from '../kit/bounds.ts';
import { callerOf, scopeOf, targetWorkspace } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import type { PageRequest } from '../kit/lists.ts';
import { defined, type Patch, patch } from '../kit/patch.ts';
import { recordHead } from '../kit/record.ts';
import { type Resource, resource } from '../kit/resource.ts';
import {
  checkAssumed,
  checkRoom,
  checkSameTarget,
  checkTarget,
  conditionMessages,
  conditionsOf,
  findPolicy,
  groupKeysOf,
  groupMessages,
  policyWorkspace,
  shownAssumed,
  targetOf,
} from './parts.ts';

type AnyPolicy = PolicyBody & { readonly type: string };
/** The members that only one kind has; undefined ones are left out. */
type OwnMembers<B extends AnyPolicy> = { [K in Exclude<keyof B, keyof PolicyBody>]: B[K] | undefined };

/** One kind of policies. */
export interface PolicyKind<B extends AnyPolicy> {
  readonly collection: Collection<B>;
  readonly shown: (document: Document<B>) => JsonObject;
  readonly rules: readonly BoundRule<B>[];
  /** The body's member that tells which level made the policy. */
  readonly amount: keyof B & ('value' | 'creditLimit');
  readonly amountField: string;
  /** The kind's own fields that an update may take away. */
  readonly clearable: readonly string[];
  /** Fields by which lists are narrowed. */
  readonly filters: readonly ('type' | 'unit')[];
  /** @throws GatewayError validation_failed for own members that do not fit each other */
  readonly check: (body: B) => void;
}

/** What requests of both kinds have in common. */
interface Given {
  readonly name?: string | undefined;
  readonly conditions: readonly PolicyCondition[];
  readonly onStoreOutage?: string | undefined;
  readonly target?: string | undefined;
  readonly assumedOutputTokens?: number | undefined;
}

interface GivenNew extends Given {
  readonly groupBy: readonly PolicyGroup[];
  readonly workspaceId?: string | undefined;
  readonly organisationId?: string | undefined;
}

interface GivenList extends PageRequest {
  readonly type?: string | undefined;
  readonly unit?: string | undefined;
  readonly status?: string | undefined;
  readonly workspaceId?: string | undefined;
}

const CLEARABLE = ['name', 'on_store_outage', 'assumed_output_tokens'];

/** The operations of one kind. */
export function policyOperations<B extends AnyPolicy>(deps: IdentityDeps, kind: PolicyKind<B>) {
  const { documents, directory } = deps;
  const { collection, shown, amount, amountField, rules } = kind;
  const stored = resource(deps, { collection, noun: 'policy', shown });

  const checked = (caller: Principal, was: B | undefined, given: B): B => {
    checkAssumed(given);
    checkTarget(given);
    kind.check(given);
    return bounded(deps, caller, rules, was, given);
  };

  return {
    stored,

    /** One that the caller may reach, active by default. @throws GatewayError not_found */
    find: (call: Call, { policyId, status }: { readonly policyId: string; readonly status?: string }) =>
      findPolicy(documents, callerOf(call), collection, policyId, status),

    /** Stores a new one. @param own reads the request's own members */
    async create(call: Call, request: GivenNew, own: () => OwnMembers<B>): Promise<Document<B>> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      const workspaceId = policyWorkspace(directory, caller, request);
      await checkRoom(documents, organisationId);
      const given = defined({
        name: request.name,
        conditions: conditionsOf(request.conditions),
        groupBy: groupKeysOf(request.groupBy),
        ...own(),
        onStoreOutage: request.onStoreOutage,
        assumedOutputTokens: request.assumedOutputTokens,
        ...targetOf(request.target),
      }) as unknown as B;
      const body = checked(caller, undefined, given);
      return stored.create(call, stored.draft({ organisationId, workspaceId }, body));
    },

    page: (call: Call, request: GivenList): Promise<DocumentPage<B>> =>
      stored.page(...pageOf(directory, kind, callerOf(call), request)),

    /** One as a request changes it. @param own reads the request's own members */
    changed(
      call: Call,
      before: Document<B>,
      request: Given & { readonly clear: readonly string[] },
      own: (fields: Patch) => Partial<OwnMembers<B>>,
    ): Document<B> {
      const was = before.body;
      checkSameTarget(was, request.target);
      const fields = patch(request.clear, [...CLEARABLE, ...kind.clearable]);
      const { onStoreOutage, assumedOutputTokens: assumed } = request;
      const given = defined({
        name: fields.optional('name', request.name, was.name),
        conditions: request.conditions.length > 0 ? conditionsOf(request.conditions) : was.conditions,
        groupBy: was.groupBy,
        type: was.type,
        ...own(fields),
        onStoreOutage: fields.optional<string>('on_store_outage', onStoreOutage, was.onStoreOutage),
        assumedOutputTokens: fields.optional('assumed_output_tokens', assumed, was.assumedOutputTokens),
        ...targetOf(was.target),
      }) as unknown as B;
      return stored.changed(before, checked(callerOf(call), was, given));
    },

    /** @throws GatewayError forbidden for a policy that a higher level made: it is neither removed nor reset below. */
    checkTheirs(call: Call, { body }: Document<B>, field: string): void {
      const value = body[amount] as number;
      const set = setAboveCaller(directory, callerOf(call), body, amountField, value);
      if (set !== undefined) throw setByHigher(field, set);
    },
  };
}

/** What a list reads. @throws GatewayError validation_failed */
function pageOf<B extends AnyPolicy>(
  directory: IdentityDeps['directory'],
  { filters }: PolicyKind<B>,
  caller: Principal,
  request: GivenList,
): Parameters<Resource<B>['page']> {
  const filter: Condition[] = filters.flatMap((field) => {
    const value = request[field];
    return value === undefined ? [] : [{ field, op: 'eq', value }];
  });
  const workspaceId = targetWorkspace(directory, caller, request.workspaceId);
  const status = request.status === 'archived' ? 'archived' : 'active';
  return [{ ...scopeOf(caller), workspaceId }, request, { filter, status }];
}

/** The members that the records of both kinds have. @param outage what happens by default while the store does not answer */
export function policyMembers(document: Document<AnyPolicy>, outage: 'allow' | 'deny') {
  const { organisationId, workspaceId, body } = document;
  return {
    ...recordHead(document),
    name: body.name,
    conditions: conditionMessages(body.conditions),
    groupBy: groupMessages(body.groupBy),
    type: body.type,
    onStoreOutage: body.onStoreOutage ?? outage,
    ...shownAssumed(body),
    target: body.target ?? 'llm',
    workspaceId,
    organisationId,
  };
}
