// What a caller can cause must not let a call pass: padding, tokens, patterns that take too long, a full sandbox.
import test from 'ava';
import { parseSavedGuardrail } from '../../src/checks/guardrails.ts';
import type { HookResult } from '../../src/checks/runner/hook-result.ts';
import type { JsonObject } from '../../src/checks/view/traffic.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { bench, call, never, runHooks, saying } from './try-out.ts';

const NO_SECRET = { contains: { words: ['secret'], operator: 'none' } };
const PADDING = 'x'.repeat(2_200_000);
const calling = (args: string): JsonObject => ({
  messages: [
    { role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'f', arguments: args } }] },
  ],
});

test('with deny, what a caller can cause fails, and the verdict says so', async (t) => {
  const checks = bench(t, { sandbox: { deadlineMs: 100 } });
  const slow = { regexMatch: { rule: '^(a+)+$', not: true } };
  for (const [traffic, hook, name] of [
    [saying(`secret ${PADDING}`), NO_SECRET, 'InputTooLongError'],
    [call({ request: calling(`{"a":"${PADDING}"}`) }), NO_SECRET, 'InputTooLongError'],
    [call({ api: 'embeddings', request: { input: [1, 2] } }), NO_SECRET, 'UnreadableInputError'],
    [call({ request: { messages: Array(20_001).fill({}) } }), NO_SECRET, 'UnreadableInputError'],
    [saying(`${'a'.repeat(60)}!`), slow, 'TimeoutError'],
  ] as const) {
    const run = await runHooks(checks, traffic, { ...hook, deny: true });
    const [result] = run.results as HookResult[];
    t.is(run.decision, 'deny', name);
    t.like(result?.checks[0], { verdict: false, fail_on_error: true, error: { name } });
    t.regex(String(result?.checks[0]?.data?.explanation), /could not be completed, and counts as failed/);
    t.is((await runHooks(checks, traffic, hook)).decision, 'pass', 'without deny it is an error alone');
    t.is((await runHooks(checks, traffic, { ...hook, deny: true, on_error: 'pass' })).decision, 'pass');
    const [check = '', parameters] = Object.entries(hook)[0]!;
    const forItself = { [check]: { ...parameters, on_error: 'pass' }, deny: true };
    t.is((await runHooks(checks, traffic, forItself)).decision, 'pass');
  }
});

test('escapes in arguments hide nothing, whether these are JSON or not', async (t) => {
  const checks = bench(t);
  for (const args of [
    '{"a":"\\u0073ecret"}',
    '{"a":"\\u0073ecret"',
    '["\\u0073ecret", {',
    '"\\u0073ecret"',
  ]) {
    const run = await runHooks(checks, call({ request: calling(args) }), { ...NO_SECRET, deny: true });
    t.is(run.decision, 'deny', args);
  }
});

test('a rewrite that cannot be made denies the call, with deny and without', async (t) => {
  const checks = bench(t, { sandbox: { deadlineMs: 100 } });
  const traffic = saying(`${'a'.repeat(60)}! 555-1234`);
  const rule = { rule: '(a+)+$|555-1234' };
  for (const hook of [{ type: 'mutator', regexReplace: rule }, { regexReplace: rule }]) {
    const run = await runHooks(checks, traffic, hook);
    t.is(run.decision, 'deny');
    t.like(run.results[0], { verdict: false, deny: true, transformed: false });
  }
  t.is((await runHooks(checks, traffic, { regexReplace: rule, on_error: 'pass' })).decision, 'pass');
  const long = await runHooks(checks, saying(`555-1234 ${PADDING}`), { regexReplace: { rule: '555-1234' } });
  t.is(long.decision, 'deny');
});

test('a guardrail that every call passes looks at all messages, unless it says otherwise', async (t) => {
  const checks = bench(t);
  const earlier = call({
    request: {
      messages: [
        { role: 'user', content: 'a secret' },
        { role: 'user', content: 'go on' },
      ],
    },
  });
  const decision = async (mandatory: boolean, actions: object) => {
    const saved = { checks: [{ id: 'contains', parameters: NO_SECRET.contains }], actions };
    const hook = parseSavedGuardrail(saved, 'pg', 'input', '', [], mandatory)!;
    return (await checks.runner.run([hook], earlier, never)).decision;
  };
  t.is(await decision(true, { deny: true }), 'deny');
  t.is(await decision(true, { deny: true, scope: 'last' }), 'pass');
  t.is(await decision(false, { deny: true }), 'pass');
});

test('a guardrail that every call passes and that finds no worker is a 503, never a pass', async (t) => {
  const checks = bench(t, { sandbox: { maxQueued: 0 } });
  const saved = {
    checks: [{ id: 'regexMatch', parameters: { rule: 'x', not: true } }],
    actions: { deny: true, onError: 'pass' },
  };
  const hook = (mandatory: boolean) => parseSavedGuardrail(saved, 'pg-all', 'input', '', [], mandatory)!;
  const thrown = await t.throwsAsync(checks.runner.run([hook(true)], saying('a'), never), {
    instanceOf: GatewayError,
  });
  t.like(thrown, { reason: 'overloaded', status: 503, details: { retryAfterMs: 1000 } });
  t.regex(String(thrown?.message), /pg-all/);
  t.is((await checks.runner.run([hook(false)], saying('a'), never)).decision, 'pass');
});

test('the checks of one call have one bound of workers’ time', async (t) => {
  const { CallBudget } = await import('../../src/checks/sandbox/call-budget.ts');
  const checks = bench(t, { sandbox: { deadlineMs: 100 } });
  const budget = new CallBudget(150);
  const slow = Object.fromEntries(
    Array.from({ length: 6 }, (_, i) => [`c${i}`, { id: 'regexMatch', rule: '^(a+)+$', not: true }]),
  );
  const traffic = { ...saying(`${'a'.repeat(60)}!`), budget };
  const run = await runHooks(checks, traffic, { ...slow, sequential: true, deny: true });
  const messages = (run.results[0] as HookResult).checks.map(({ error }) => error?.message ?? '');
  t.true(messages.some((message) => message.includes('together')));
  t.is(run.decision, 'deny');
});
