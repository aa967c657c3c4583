// Rows of providers' own batches, and fine-tuning jobs, in the books: an entry each, charged to the budgets of who made them.
import { createHash } from 'node:crypto';
import { BatchesService } from '../../gen/gateway/inference/v2/batches_pb.ts';
import { FineTuningService } from '../../gen/gateway/inference/v2/fine_tuning_pb.ts';
import { Call } from '../call/call.ts';
import type { Principal } from '../call/principal.ts';
import type { AttemptRecord, RequestRecord } from '../call/record.ts';
import { ENDPOINTS } from '../inference/batches/endpoints.ts';
import type { OutputRow } from '../inference/batches/output-rows.ts';
import type { BatchMaker } from '../inference/batches/provider-collection.ts';
import type { RowBooks, RowsToBook } from '../inference/batches/row-books.ts';
import { pricedTier } from '../inference/pipeline/attempt.ts';
import type { Books } from '../ledger/books.ts';
import { chargedBudgetsOf } from '../ledger/charged-budgets.ts';
import type { Admission } from '../ledger/limits/admission.ts';
import { type Counted, limitOf } from '../ledger/limits/limit-of.ts';
import type { PolicySet } from '../ledger/limits/policy-set.ts';
import type { Rule } from '../ledger/limits/rule.ts';
import { rulesOfAll } from '../ledger/limits/rules-of.ts';
import { usageRecord } from '../ledger/usage-record.ts';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';
import { locate } from '../providers/locate.ts';
import type { RequestLogStore } from '../store/request-log.ts';

/** What booking takes. */
export interface RowBooksDeps {
  readonly admission: Pick<Admission, 'book'>;
  readonly policies: Pick<PolicySet, 'rulesFor'>;
  readonly books: Pick<Books, 'priced' | 'told'>;
  readonly store: Pick<RequestLogStore, 'page'>;
  readonly names: HeaderNames;
  /** The rules that a call of this principal meets. */
  readonly rulesFor: (call: Call, principal: Principal) => readonly Rule[];
  readonly principalOf: (organisationId: string, keyId: string) => Principal | undefined;
  readonly now: () => number;
}

/** Nothing is held: what a call may use at the most is of no meaning. */
const NOTHING = { tokens: () => 0, cost: () => 0n };
/** The service tier whose prices rows of batches have. */
const TIER = 'batch';

export function providerBatchBooks(deps: RowBooksDeps): RowBooks {
  const { admission, books, store, now } = deps;

  /** Entries that are written already. */
  async function written(organisationId: string, at: number, ids: readonly string[]): Promise<Set<string>> {
    const scope = { organisationId, workspaceId: undefined };
    const page = { page: 0, pageSize: ids.length, order: 'asc', count: false } as const;
    const { entries } = await store.page(scope, { from: at, until: at + 1, ids }, page);
    return new Set(entries.map(({ id }) => id));
  }

  return {
    async book(batch) {
      const { rows, at, again } = batch;
      if (rows.length === 0) return;
      const organisationId = batch.call.principal?.organisationId ?? '';
      const { call, principal } = makerCall(deps, batch, organisationId);
      const own = budgetsOf(deps.rulesFor(call, principal), now());
      const target = budgetsOf(targetRules(deps, batch, call), now());
      const ids = rows.map(({ line }) => entryId(batch.id, line));
      const known = again ? await written(organisationId, at, ids) : undefined;
      const { origin } = locate(batch.bound.target, undefined, undefined);
      const facts = { principal, call, host: origin.slice(origin.indexOf('//') + 2), own, target };
      await Promise.all(
        rows.map(async (row, i) => {
          const id = ids[i]!;
          if (known?.has(id)) return;
          const entry = books.priced(entryOf(batch, row, id, facts));
          if (await admission.book(organisationId, [...own, ...target], entry)) books.told(entry, call);
        }),
      );
    },
  };
}

interface Facts {
  readonly principal: Principal;
  readonly call: Call;
  readonly host: string;
  readonly own: readonly Counted[];
  readonly target: readonly Counted[];
}

/** The same for the same row, by all processes. */
function entryId(output: string, line: number): string {
  const hex = createHash('sha256').update(`${output} ${line}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

/** A call as the maker of the batch would make it: for the rules that it meets. */
function makerCall(deps: RowBooksDeps, { call, maker, endpoint, jobId }: RowsToBook, organisationId: string) {
  const metadata = {
    [`${deps.names.canonical}metadata`]: JSON.stringify(maker?.metadata ?? call.record.metadata),
  };
  const method =
    (endpoint && ENDPOINTS.get(endpoint)) ||
    (jobId === undefined
      ? BatchesService.method.getBatchOutput
      : FineTuningService.method.createFineTuningJob);
  const source = {
    protocol: call.source.protocol,
    headers: new GatewayHeaders(deps.names, metadata),
    httpMethod: 'POST',
    path: endpoint ?? call.source.path,
    remote: '',
  };
  const made = new Call(method, source);
  made.traceId = call.traceId;
  const principal = maker === undefined ? call.principal! : makerOf(deps, maker, organisationId);
  made.principal = principal;
  return { call: made, principal };
}

function makerOf(deps: RowBooksDeps, maker: BatchMaker, organisationId: string): Principal {
  const { keyId, workspaceId, userId, token } = maker;
  if (token !== undefined) {
    const { scopes, ...rest } = token as unknown as Omit<Principal, 'scopes'> & { scopes: string[] };
    return { ...rest, scopes: new Set(scopes) };
  }
  const known = deps.principalOf(organisationId, keyId);
  if (known !== undefined) return known;
  return {
    organisationId,
    workspaceId,
    userId,
    keyId,
    keyName: '',
    kind: 'workspace-service',
    scopes: new Set(),
  };
}

/** Those of the target that the batch ran at. */
function targetRules(
  { policies }: RowBooksDeps,
  { bound: { stored, target } }: RowsToBook,
  { limitSubject }: Call,
): readonly Rule[] {
  const carried = rulesOfAll(stored?.limits ?? []);
  if (limitSubject === undefined) return carried;
  const { id } = target.provider;
  const provider = stored?.slug === undefined || stored.slug === id ? [id] : [id, stored.slug];
  return [...carried, ...policies.rulesFor({ ...limitSubject, provider })];
}

function budgetsOf(rules: readonly Rule[], at: number): readonly Counted[] {
  return rules
    .filter(({ kind }) => kind === 'budget')
    .map((rule) => ({ rule, limit: limitOf(rule, NOTHING, at) }));
}

function entryOf(batch: RowsToBook, row: OutputRow, id: string, facts: Facts): RequestRecord {
  const { call, principal, own } = facts;
  const { at, maker, batchId, jobId } = batch;
  const attempt = attemptOf(batch, row, id, facts);
  const budgets = chargedBudgetsOf(own);
  const metadata = { ...(maker?.metadata ?? batch.call.record.metadata) };
  return {
    id,
    traceId: call.traceId,
    organisationId: principal.organisationId,
    workspaceId: principal.workspaceId ?? '',
    apiKeyId: principal.keyId,
    createdAt: at,
    operation: `${call.method.parent.typeName}/${call.method.name}`,
    protocol: call.source.protocol,
    method: 'POST',
    path: call.source.path,
    provider: attempt.provider,
    model: attempt.model,
    responseModel: row.model,
    statusCode: row.status,
    outcome: attempt.outcome,
    streamed: false,
    latencyMs: 0,
    metadata: {
      ...metadata,
      ...(batchId === undefined ? {} : { _batch: batchId }),
      ...(jobId === undefined ? {} : { _fine_tuning_job: jobId }),
    },
    attempts: [attempt],
    ...(attempt.usage && { usage: attempt.usage }),
    ...(principal.userId === undefined ? {} : { userId: principal.userId }),
    ...(batch.bound.stored?.slug === undefined ? {} : { virtualKey: batch.bound.stored.slug }),
    ...(budgets === undefined ? {} : { budgets }),
  };
}

function attemptOf(
  { bound, at, model, jobId, plain }: RowsToBook,
  row: OutputRow,
  id: string,
  { host, target }: Facts,
): AttemptRecord {
  const { usage: report, status, model: answered } = row;
  const isDone = status >= 200 && status <= 299;
  const usage = report === undefined || report === 'refused' ? undefined : usageRecord(report);
  const asked = model ?? answered;
  const pricing = bound.stored?.pricing?.(asked);
  const budgets = chargedBudgetsOf(target);
  const tier = plain === undefined ? (jobId === undefined ? TIER : undefined) : pricedTier(plain.tier);
  return {
    id,
    provider: bound.target.provider.id,
    host,
    model: asked,
    responseModel: answered,
    statusCode: status,
    outcome: isDone ? 'success' : 'error',
    startedAt: at,
    latencyMs: 0,
    ...(tier === undefined ? {} : { serviceTier: tier }),
    ...(usage && { usage }),
    ...(usage === undefined && isDone ? { unpriced: true as const } : {}),
    ...(report === 'refused' ? { usageRefused: true as const } : {}),
    ...(pricing === undefined ? {} : { pricing }),
    ...(budgets === undefined ? {} : { budgets }),
  };
}
