// The lists of declared state, in the order in which they are applied: what others name comes first.
import type { JsonObject } from '../../store/collection.ts';
import { keyKind, workspaceKind } from './identity-kinds.ts';
import type { Kind } from './kind.ts';
import { priceKind, ratePolicyKind, usagePolicyKind } from './limit-kinds.ts';
import { integrationKind, providerKind } from './provider-kinds.ts';
import { aliasKind, configKind, guardrailKind, promptKind } from './routing-kinds.ts';

export const KINDS: readonly Kind[] = [
  workspaceKind,
  integrationKind,
  providerKind,
  guardrailKind,
  promptKind,
  configKind,
  ratePolicyKind,
  usagePolicyKind,
  priceKind,
  aliasKind,
  keyKind,
];

/** The lists as files have them. */
export const LISTS: readonly string[] = [
  ...['workspaces', 'integrations', 'providers', 'configs', 'prompts'],
  ...['guardrails', 'policies', 'prices', 'aliases', 'keys'],
];

/** The kind of a record of a list; undefined for a policy that does not say which it is. */
export function kindOf(list: string, record: JsonObject): Kind | undefined {
  if (list !== 'policies') return KINDS.find((kind) => kind.list === list);
  if (record.kind === 'rate-limits') return ratePolicyKind;
  return record.kind === 'usage-limits' ? usagePolicyKind : undefined;
}

/** What kinds are called where records of one list are kept apart. */
export function kindName(kind: Kind): string {
  if (kind === ratePolicyKind) return 'policies/rate-limits';
  return kind === usagePolicyKind ? 'policies/usage-limits' : kind.list;
}
