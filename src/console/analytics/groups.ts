// By what calls are told apart, and what it is called in the address of the log.
import type { AnalyticsGroup } from '../../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { listed } from '../log-query.ts';

export const GROUPS = [
  ['model', 'Model'],
  ['ai_service', 'Provider'],
  ['api_key', 'Key'],
  ['workspace', 'Workspace'],
  ['config', 'Config'],
  ['prompt', 'Prompt'],
  ['status_code', 'Status'],
  ['error_reason', 'Error'],
  ['metadata', 'Metadata …'],
] as const;

/** The member of the log's address for a group. */
const MEMBERS: Readonly<Record<string, string>> = {
  model: 'model',
  ai_service: 'provider',
  api_key: 'key',
  workspace: 'workspace',
  config: 'config',
  prompt: 'prompt',
  status_code: 'status',
  error_reason: 'error_reason',
};

export interface Group {
  /** What the log tells it by; empty: calls that have none. */
  readonly value: string;
  readonly name: string;
  readonly requests: bigint;
  /** Whole numbers of 1e-12 dollars. */
  readonly costExact: string | undefined;
  readonly totalTokens?: bigint | undefined;
  /** Milliseconds. */
  readonly avgLatency?: number | undefined;
  readonly errorCount?: bigint | undefined;
}

export function groupOf(group: AnalyticsGroup): Group {
  const { model, aiService, apiKey, workspace, config, prompt, statusCode, errorReason, workspaceName } =
    group;
  const value = String(
    model ?? aiService ?? apiKey ?? workspace ?? config ?? prompt ?? statusCode ?? errorReason ?? '',
  );
  const { requests, costExact, totalTokens, avgLatency, errorCount } = group;
  return { value, name: workspaceName ?? value, requests, costExact, totalTokens, avgLatency, errorCount };
}

/** Members of the address that lead to a group's entries; undefined: the log cannot ask for them. */
export function filterOf(by: string, value: string): Readonly<Record<string, string>> | undefined {
  if (value === '') return undefined;
  if (by.startsWith('metadata.'))
    return { metadata: JSON.stringify({ [by.slice('metadata.'.length)]: value }) };
  return { [MEMBERS[by] ?? 'model']: listed(value) };
}

/** What all calls of a time came to. */
export interface Totals {
  readonly requests: bigint;
  readonly costExact: string | undefined;
}

/** Calls of no group, and of groups that are not shown, so that the lines add up; undefined: there are none. */
export function restOf(shown: { readonly groups: readonly Group[]; readonly total: number }, of: Totals) {
  const sum = (read: (group: Group) => bigint): bigint =>
    shown.groups.reduce((total, group) => total + read(group), 0n);
  const requests = of.requests - sum((group) => group.requests);
  if (requests <= 0n) return undefined;
  const cost = BigInt(of.costExact ?? '0') - sum(({ costExact }) => BigInt(costExact ?? '0'));
  const name = shown.total > shown.groups.length ? '(all others)' : '(none)';
  return { value: '', name, requests, costExact: String(cost) } satisfies Group;
}
