// The runner: verdicts, decisions, the shape of results, order, time, async hooks.
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { CheckFailure } from '../../src/checks/contract/check.ts';
import { defineCheck } from '../../src/checks/contract/define.ts';
import { flag, required, secret, text } from '../../src/checks/contract/fields.ts';
import type { Hook } from '../../src/checks/guardrails.ts';
import { denied, hookResults, softDenial, statusAfter } from '../../src/checks/runner/answer.ts';
import type { LaterHooks } from '../../src/checks/runner/guardrail-runner.ts';
import type { HookResult } from '../../src/checks/runner/hook-result.ts';
import { Aborter } from '../../src/lib/abort.ts';
import { withSlack } from '../support/slack.ts';
import { answering, answerJson, bench, call, hooks, listen, never, runHooks, saying } from './try-out.ts';

const NO_X = { contains: { words: ['x'], operator: 'none' } };

test('verdicts decide: pass, flag 246, deny 446', async (t) => {
  const checks = bench(t);
  const pass = await runHooks(checks, saying('a'), { ...NO_X, deny: true });
  t.is(pass.decision, 'pass');
  t.is(statusAfter(200, pass), 200);
  const flagged = await runHooks(checks, saying('x'), NO_X);
  t.is(flagged.decision, 'flag');
  t.is(statusAfter(200, flagged, undefined), 246);
  t.is(statusAfter(200, undefined, flagged), 246);
  t.is(statusAfter(429, flagged), 429);
  const stopped = await runHooks(checks, saying('x'), NO_X, { ...NO_X, deny: true });
  t.is(stopped.decision, 'deny');
  t.deepEqual([denied().status, denied().type], [446, 'hooks_failed']);
});

test('results have the published shape', async (t) => {
  const now = Date.UTC(2026, 10, 21);
  const checks = bench(t, { clock: { now: () => now } });
  const feedback = (value: number) => ({ feedback: { value, weight: 1, metadata: { user: 'u' } } });
  const run = await runHooks(
    checks,
    saying('x'),
    {
      id: 'h1',
      ...NO_X,
      wordCount: { maxWords: 5 },
      regexMatch: { rule: '(a+)+$', timeout: 1 },
      on_fail: feedback(-5),
      on_success: feedback(5),
    },
    { id: 'h2', notNull: {}, onSuccess: feedback(5) },
  );
  const [first, second] = run.results as HookResult[];
  t.like(first, {
    id: 'h1',
    type: 'guardrail',
    verdict: false,
    transformed: false,
    async: false,
    deny: false,
    created_at: '2026-11-21T00:00:00.000Z',
    feedback: { value: -5, weight: 1 },
  });
  t.deepEqual(first?.feedback?.metadata, {
    user: 'u',
    successfulChecks: 'default.wordCount',
    failedChecks: 'default.contains',
    erroredChecks: 'default.regexMatch',
  });
  t.is(typeof first?.execution_time, 'number');
  const [contains, , regex] = first?.checks ?? [];
  t.deepEqual(Object.keys(contains ?? {}).sort(), [
    'created_at',
    'data',
    'execution_time',
    'fail_on_error',
    'id',
    'log',
    'transformed',
    'verdict',
  ]);
  t.like(regex, {
    verdict: true,
    data: null,
    log: null,
    error: { name: 'TimeoutError', message: 'the check took longer than 1 ms' },
  });
  t.like(second, { verdict: true, feedback: { value: 5 } });
  t.deepEqual(hookResults(run, undefined), { before_request_hooks: run.results, after_request_hooks: [] });
  t.is(hookResults(undefined, undefined), undefined);
});

test('errors pass or fail as the check, the hook or the check’s own default says', async (t) => {
  const checks = bench(t);
  const failing = { contains: { words: ['x'], operator: 'any' } };
  const tokens = call({ api: 'embeddings', request: { input: [1, 2] } });
  const decision = async (hook: object) => (await runHooks(checks, tokens, hook)).decision;
  t.is(await decision(failing), 'pass');
  t.is(await decision({ ...failing, on_error: 'fail' }), 'flag');
  t.is(await decision({ ...failing, on_error: 'fail', deny: true }), 'deny');
  t.is(await decision({ contains: { ...failing.contains, fail_on_error: true }, on_error: 'pass' }), 'flag');
  t.is(await decision({ contains: { ...failing.contains, failOnError: false }, on_error: 'fail' }), 'pass');
});

test('checks run at once, or one after another when asked', async (t) => {
  const checks = bench(t);
  let [running, most] = [0, 0];
  /** Each check is answered when three are asked at once, or after so many turns. */
  let patience = 200;
  const { url } = await listen(t, async (_, response) => {
    most = Math.max(most, ++running);
    for (let waited = 0; most < 3 && waited < patience; waited++) await sleep(10);
    running--;
    answerJson(response, { verdict: true });
  });
  const log = (id: string) => ({ [id]: { id: 'log', logURL: url } });
  const three = { ...log('a'), ...log('b'), ...log('c') };
  await runHooks(checks, saying('x'), three);
  t.is(most, 3);
  [most, patience] = [0, 5];
  const run = await runHooks(checks, saying('x'), { ...three, sequential: true });
  t.is(most, 1);
  t.is((run.results[0] as HookResult).checks.length, 3);
});

test('mutators write before guardrails judge', async (t) => {
  const checks = bench(t);
  const run = await runHooks(
    checks,
    saying('a'),
    { id: 'judge', contains: { words: ['PREFIX'], operator: 'all' } },
    { id: 'mutate', type: 'mutator', addPrefix: { prefix: 'PREFIX ' } },
    { id: 'mutate-more', type: 'mutator', regexReplace: { rule: 'a', redactText: 'b' } },
  );
  t.deepEqual(
    run.results.map(({ id }) => id),
    ['judge', 'mutate', 'mutate-more'],
  );
  t.is(run.decision, 'pass');
  t.deepEqual(run.request.messages, [{ role: 'user', content: 'PREFIX b' }]);
});

test('answers that failed or hold no text are not examined', async (t) => {
  const checks = bench(t);
  const words = { contains: { words: ['y'], operator: 'any' }, deny: true };
  const failed = await runHooks(checks, call({ response: { error: {} }, status: 400 }), words);
  t.deepEqual(failed.results, [{ id: 'output_guardrail_1', type: 'guardrail', skipped: true, async: false }]);
  t.is(failed.decision, 'pass');
  const vectors = await runHooks(
    checks,
    call({ api: 'embeddings', request: { input: 'x' }, response: { data: [] } }),
    words,
  );
  t.is(vectors.decision, 'pass');
});

/** Notes of each async hook its id, and what it came to behind that, once it has. */
function noting(): { readonly later: LaterHooks; readonly ended: [string, (HookResult | undefined)?][] } {
  const ended: [string, (HookResult | undefined)?][] = [];
  const later: LaterHooks = {
    started({ id }) {
      const one: [string, (HookResult | undefined)?] = [id];
      ended.push(one);
      return (result) => void one.push(result);
    },
  };
  return { later, ended };
}

test('async hooks run beside the call, are told of, and are waited for at the end', async (t) => {
  const told: HookResult[] = [];
  const checks = bench(t, { onAsync: (result) => told.push(result) });
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { url, asked } = await listen(t, async (_, response) => {
    await gate;
    answerJson(response, { verdict: false });
  });
  const aborter = new Aborter();
  const list = hooks(
    'input',
    { async: true, deny: true, webhook: { webhookURL: url } },
    { async: true, type: 'mutator', addPrefix: { prefix: 'x' } },
  );
  // The webhook does not answer before the run has ended.
  const { later, ended } = noting();
  const run = await checks.runner.run(list, saying('x'), aborter, later);
  t.deepEqual(ended, [['input_guardrail_1']]);
  release();
  aborter.abort(new Error('the answer has gone out'));
  t.is(run.decision, 'pass');
  t.deepEqual(run.results, [
    { id: 'input_guardrail_1', type: 'guardrail', skipped: true, async: true },
    { id: 'input_guardrail_2', type: 'mutator', skipped: true, async: true },
  ]);
  t.is(checks.runner.pending, 1);
  t.is(await checks.runner.drain(5000), 0);
  t.is(asked.length, 1);
  t.like(told[0], { verdict: false, async: true, deny: true });
  t.deepEqual(ended, [['input_guardrail_1', told[0]]]);
  t.is(checks.runner.pending, 0);
});

test('async hooks that do not end are ended at shutdown, and none above the bound is started', async (t) => {
  const dropped: Hook[] = [];
  const checks = bench(t, { maxAsync: 2, onDropped: (hook) => dropped.push(hook) });
  const { url } = await listen(t, () => {});
  const list = hooks(
    'input',
    ...Array.from({ length: 3 }, () => ({ async: true, webhook: { webhookURL: url, timeout: 30_000 } })),
  );
  const { later, ended } = noting();
  await checks.runner.run(list, saying('x'), never, later);
  t.deepEqual([checks.runner.pending, dropped.length], [2, 1]);
  t.deepEqual(
    ended.map((one) => one.length),
    [1, 1, 2],
  );
  const startedAt = performance.now();
  t.is(await checks.runner.drain(80), 2);
  t.true(performance.now() - startedAt < withSlack(2000));
  t.is(dropped.length, 3);
  t.deepEqual(
    ended.map(([, result]) => result),
    [undefined, undefined, undefined],
  );
  t.true(ended.every((one) => one.length === 2));
});

test('a caller who leaves ends the run with its reason', async (t) => {
  const checks = bench(t);
  const { url } = await listen(t, () => {});
  const aborter = new Aborter();
  const reason = new Error('the caller left');
  const running = checks.runner.run(
    hooks('input', { webhook: { webhookURL: url, timeout: 20_000 }, deny: true }),
    saying('x'),
    aborter,
  );
  setTimeout(() => aborter.abort(reason), 30);
  t.is(await t.throwsAsync(running), reason);
  await t.throwsAsync(checks.runner.run(hooks('input', NO_X), saying('x'), aborter), {
    message: 'the caller left',
  });
});

test('a check of a partner service is one file: credentials in its parameters, masked wherever they are shown', async (t) => {
  const check = defineCheck({
    id: 'partner.scan',
    events: ['input', 'output'],
    timeoutMs: 50,
    fields: { credentials: required(secret(text(100))), slow: flag() },
    async run({ traffic }, { credentials, slow }, { signal }) {
      if (slow) await sleep(10_000, undefined, { ref: false });
      t.false(signal.aborted);
      if (traffic.model === 'broken') throw new TypeError(`fault near ${credentials}`);
      if (traffic.model === 'away') throw new CheckFailure('CallFailedError', 'the service is away');
      return { verdict: true, data: null };
    },
  });
  const faults: string[] = [];
  const fault = (path: string, message: string) => faults.push(`${path}: ${message}`);
  t.is(check.bind({}, 'here', fault), undefined);
  t.deepEqual(faults, ['here.credentials: is required']);
  const reported: unknown[] = [];
  const checks = bench(t, { report: (error) => reported.push(error) });
  const hookOf = (parameters: object): Hook => ({
    ...hooks('input', NO_X)[0]!,
    checks: [
      {
        id: check.id,
        bound: check.bind({ credentials: 'key', ...parameters }, '', fault)!,
        rewrites: false,
        scope: 'last',
        beside: undefined,
        asks: false,
        onError: { default: 'fail', closed: false },
        timeoutMs: check.timeoutMs,
      },
    ],
  });
  const outcome = async (model: string, parameters: object) => {
    const run = await checks.runner.run(
      [hookOf(parameters)],
      call({ request: { model, messages: [] } }),
      never,
    );
    return (run.results[0] as HookResult).checks[0];
  };
  t.true((await outcome('fine', {}))?.verdict);
  t.like(await outcome('away', {}), {
    verdict: false,
    error: { name: 'CallFailedError', message: 'the service is away' },
  });
  t.like(await outcome('broken', {}), {
    verdict: false,
    error: { name: 'CheckError', message: 'the check failed' },
  });
  t.is(reported.length, 1);
  t.like(await outcome('fine', { slow: true }), {
    error: { name: 'TimeoutError', message: 'the check took longer than 50 ms' },
  });
});

test('no hooks cost nothing and change nothing', async (t) => {
  const checks = bench(t);
  const traffic = answering('x');
  const run = await checks.runner.run([], traffic, never);
  t.is(run.request, traffic.request.json);
  t.is(run.response, traffic.response?.json);
  t.is(run.decision, 'pass');
});

test('a soft denial is one to be answered with 200 and a reply', async (t) => {
  const checks = bench(t);
  const soft = await runHooks(checks, saying('x'), { ...NO_X, soft_deny_200: true });
  t.deepEqual([soft.decision, soft.soft], ['deny', true]);
  const hard = await runHooks(checks, saying('x'), { ...NO_X, softDeny: true }, { ...NO_X, deny: true });
  t.deepEqual([hard.decision, hard.soft], ['deny', false]);
  t.false((await runHooks(checks, saying('a'), { ...NO_X, soft_deny_200: true })).soft);
  t.like(softDenial('chat', 'm', 'id-1', 5000), {
    id: 'id-1',
    object: 'chat.completion',
    created: 5,
    model: 'm',
  });
  t.like(softDenial('messages', 'm', 'id-1', 5000), { type: 'message', stop_reason: 'refusal' });
  t.is(softDenial('embeddings', 'm', 'id-1', 5000), undefined);
});
