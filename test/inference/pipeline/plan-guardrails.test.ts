// Saved guardrails in plans: put in where they are named, kept until something changes, refused when they are gone.
import test from 'ava';
import { joinGuardrails, parseGuardrails } from '../../../src/checks/guardrails.ts';
import type { Guardrails } from '../../../src/checks/hook.ts';
import { type GuardrailSource, PlanGuardrails } from '../../../src/inference/pipeline/plan-guardrails.ts';
import { parseConfig } from '../../../src/inference/plan/parse-config.ts';
import type { TargetPlan, WholePlan } from '../../../src/inference/plan/plan.ts';
import { factsWith } from '../plan/facts.ts';

const tenant = { organisationId: 'o', workspaceId: 'w' };
const denies = (word: string) => ({
  checks: [{ id: 'default.contains', parameters: { words: [word], operator: 'none' } }],
  actions: { deny: true },
});

class Shelf implements GuardrailSource {
  count = 0;
  looked = 0;
  readonly saved = new Map<string, object>();
  defaults: { readonly input: readonly string[]; readonly output: readonly string[] } | undefined;
  revision(): number {
    return this.count;
  }
  find(_: object, id: string) {
    this.looked += 1;
    const json = this.saved.get(id);
    return json && { id, json };
  }
  defaultsOf() {
    return this.defaults;
  }
  put(id: string, json: object | undefined): void {
    this.count += 1;
    if (json) this.saved.set(id, json);
    else this.saved.delete(id);
  }
}

function planOf(config: object): WholePlan {
  const { plan, faults } = parseConfig(config, {
    ...factsWith(),
    readGuardrails: (level, path, wrong) => parseGuardrails(level, path, wrong),
    joinGuardrails: (outer, inner) => joinGuardrails(outer as Guardrails, inner as Guardrails),
  });
  if (plan === undefined) throw new Error(JSON.stringify(faults));
  return plan;
}

const hooksOf = (plan: WholePlan, target = 0): string[] => {
  const found = (plan.targets[target] as TargetPlan).guardrails as Guardrails | undefined;
  return [...(found?.input ?? []), ...(found?.output ?? [])].map(({ id, event }) => `${event} ${id}`);
};

const openai = { provider: 'openai', api_key: 'k' };

test('a plan that names nothing saved stays the very same', (t) => {
  const plan = planOf({
    ...openai,
    input_guardrails: [{ 'default.contains': { words: ['x'], operator: 'any' } }],
  });
  const replica = new Shelf();
  t.is(new PlanGuardrails(replica).guarded(plan, tenant), plan);
  t.is(replica.looked, 0);
});

test('names are replaced, once until something changes', (t) => {
  const replica = new Shelf();
  replica.put('pg-a', denies('a'));
  const guards = new PlanGuardrails(replica);
  const plan = planOf({
    strategy: { mode: 'fallback' },
    input_guardrails: ['pg-a'],
    targets: [openai, { ...openai, output_guardrails: ['pg-a'], before_request_hooks: [{ id: 'pg-a' }] }],
  });
  const made = guards.guarded(plan, tenant);
  t.deepEqual(hooksOf(made), ['input pg-a']);
  t.deepEqual(hooksOf(made, 1).sort(), ['input pg-a', 'output pg-a']);
  const { looked } = replica;
  t.is(guards.guarded(plan, tenant), made);
  t.is(replica.looked, looked);
  replica.put('pg-a', { ...denies('b'), actions: { deny: false } });
  const next = guards.guarded(plan, tenant);
  t.not(next, made);
  t.false(((next.targets[0] as TargetPlan).guardrails as Guardrails).input[0]!.deny);
  replica.put('pg-a', undefined);
  t.throws(() => guards.guarded(plan, tenant), {
    message: /input_guardrails\[0\]: there is no saved guardrail pg-a/,
  });
});

test('what every call passes stands in front, and is gone when it is no default any more', (t) => {
  const replica = new Shelf();
  replica.put('pg-a', denies('a'));
  replica.put('pg-b', denies('b'));
  const guards = new PlanGuardrails(replica);
  const plan = planOf({ ...openai, input_guardrails: ['pg-b'] });
  const plain = planOf(openai);
  t.true(plain.straight);
  replica.defaults = { input: ['pg-a'], output: ['pg-a'] };
  t.deepEqual(hooksOf(guards.guarded(plan, tenant)), ['input pg-a', 'input pg-b', 'output pg-a']);
  const guarded = guards.guarded(plain, tenant);
  t.false(guarded.straight);
  // Pass-through needs not keep its request for that.
  t.true(guarded.once);
  replica.defaults = undefined;
  t.is(guards.guarded(plain, tenant), plain);
  t.deepEqual(hooksOf(guards.guarded(plan, tenant)), ['input pg-b']);
  replica.defaults = { input: ['pg-gone'], output: [] };
  t.throws(() => guards.guarded(plain, tenant), { message: /defaults\.input_guardrails\[0\]/ });
});

test('what cannot run on its side is refused', (t) => {
  const replica = new Shelf();
  replica.put('pg-t', {
    checks: [{ id: 'default.allowedRequestTypes', parameters: { allowedTypes: ['chatComplete'] } }],
    actions: {},
  });
  const guards = new PlanGuardrails(replica);
  t.notThrows(() => guards.guarded(planOf({ ...openai, input_guardrails: ['pg-t'] }), tenant));
  const error = t.throws(() => guards.guarded(planOf({ ...openai, output_guardrails: ['pg-t'] }), tenant));
  t.regex(error!.message, /output_guardrails\[0\]: the saved guardrail pg-t: .*cannot run on the output/);
});
