// Every rule that applies to a call: of its key or token, its workspace, and the policies of its organisation; and
// those of what it is sent to.
import type { JsonObject } from '../../store/collection.ts';
import type { PolicySet } from './policy-set.ts';
import { budgetRule, type Rule, rateRules } from './rule.ts';
import type { Subject } from './subject.ts';

/** Limits that something carries, as callers write them. */
export interface Carried {
  readonly rateLimits?: readonly JsonObject[] | undefined;
  /** One, or several. */
  readonly usageLimits?: JsonObject | readonly JsonObject[] | undefined;
  /** When usage was last reset by hand, in Unix milliseconds. */
  readonly usageResetAt?: number | undefined;
}

/** What may carry limits: `id` names its counters, `name` is for refusals. */
export interface Carrier {
  readonly id: string;
  readonly name: string;
  readonly carried: Carried;
}

const compiled = new WeakMap<object, { readonly since: number; readonly rules: readonly Rule[] }>();
const compiledAll = new WeakMap<readonly Carrier[], readonly Rule[]>();
const NONE: readonly Rule[] = [];

/** The rules of a list of carriers, compiled once for the list. */
export function rulesOfAll(carriers: readonly Carrier[]): readonly Rule[] {
  let rules = compiledAll.get(carriers);
  if (rules === undefined) {
    rules = carriers.flatMap(rulesOfCarrier);
    compiledAll.set(carriers, rules);
  }
  return rules;
}

/** Verbs of calls that make no tokens: reading a file or a batch asks neither budgets nor rates of tokens. */
export const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);

/** Whether a rule counts reads too. */
export function countsReads(rule: Rule): boolean {
  return rule.kind === 'slots' || (rule.kind === 'rate' && rule.type === 'requests');
}

/** All rules of a call; none for most calls, at the cost of a few look-ups. */
export function rulesOf(
  subject: () => Subject,
  organisationId: string,
  policies: PolicySet,
  carriers: readonly (Carrier | undefined)[],
): readonly Rule[] {
  const own = carriers.flatMap((carrier) => (carrier === undefined ? NONE : rulesOfCarrier(carrier)));
  if (!policies.has(organisationId)) return own;
  const matched = policies.rulesFor(subject());
  return own.length === 0 ? matched : [...own, ...matched];
}

function rulesOfCarrier({ id, name, carried }: Carrier): readonly Rule[] {
  const { rateLimits, usageLimits, usageResetAt } = carried;
  // The lists are replaced when they change: rules compiled from a list stay valid.
  const rates = rateLimits === undefined ? NONE : once(rateLimits, 0, () => rateRules(rateLimits, id, name));
  const budgets =
    usageLimits === undefined
      ? NONE
      : once(usageLimits, usageResetAt ?? 0, () =>
          [usageLimits].flat().map((limit, i) => budgetRule(limit as JsonObject, id, name, usageResetAt, i)),
        );
  return rates.length === 0 ? budgets : budgets.length === 0 ? rates : [...rates, ...budgets];
}

function once(list: object, since: number, compile: () => readonly Rule[]): readonly Rule[] {
  const known = compiled.get(list);
  if (known?.since === since) return known.rules;
  const rules = compile();
  compiled.set(list, { since, rules });
  return rules;
}
