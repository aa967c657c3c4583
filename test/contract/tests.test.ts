// Tries of stored providers and guardrails, over every protocol.
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { GuardrailsService } from '../../gen/gateway/admin/v2/guardrails_pb.ts';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { VirtualKeysService } from '../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { TestsService } from '../../gen/gateway/inference/v2/tests_pb.ts';
import { fresh, gone, invalid, openStories, runRefused } from './identity-stories.ts';
import type { JsonObject } from './runner.ts';

const { testProvider, testGuardrail } = TestsService.method;
const { createGuardrail } = GuardrailsService.method;
const { bench, story } = openStories(test);
const IN = { workspace_id: 'default' };

const stored = async (admin: Parameters<Parameters<typeof story>[1]>[1], host: string): Promise<string> => {
  const slug = fresh(`tried-${admin.protocol}`);
  await admin.ok(VirtualKeysService.method.createVirtualKey, {
    ...IN,
    name: slug,
    slug,
    provider: 'openai',
    key: 'sk-tried-0123456789',
    custom_host: host,
  });
  return slug;
};

story('a stored provider is tried with its own address and credential', async (t, admin) => {
  const { provider } = bench();
  const slug = await stored(admin, `${provider.origin}/v1`);
  const answer = await admin.ok(testProvider, { ...IN, slug: `@${slug}` });
  t.like(answer, { object: 'provider-test', success: true, status: 200 });
  t.true(Number(answer.models) > 0);
  t.is(provider.seen.at(-1)?.headers.authorization, 'Bearer sk-tried-0123456789');
  const away = await admin.ok(testProvider, {
    ...IN,
    slug: await stored(admin, 'http://127.0.0.1:65431/v1'),
  });
  t.like(away, { success: false, models: undefined });
  t.truthy(away.message);
});

story('a guardrail is tried with a text', async (t, admin) => {
  const checks: JsonObject[] = [
    { id: 'default.contains', parameters: { operator: 'none', words: ['secret'] } },
    { id: 'default.regexReplace', parameters: { rule: '\\d+', redactText: '#' } },
  ];
  const { id } = await admin.ok(createGuardrail, {
    ...IN,
    name: fresh('tried'),
    checks,
    actions: { deny: true },
  });
  const guardrail = { ...IN, guardrail_id: String(id) };
  const denied = await admin.ok(testGuardrail, { ...guardrail, text: 'a secret' });
  t.like(denied, { object: 'guardrail-test', decision: 'deny', verdict: false });
  t.like((denied.checks as JsonObject[])[0], { id: 'default.contains', verdict: false });
  const passed = await admin.ok(testGuardrail, { ...guardrail, text: 'call 123', event: 'output' });
  t.like(passed, { decision: 'pass', verdict: true, text: 'call #' });
  const log = JSON.stringify(await admin.ok(LogsService.method.listLogs));
  t.false(log.includes('call 123'));
});

runRefused(test, bench, [
  ['a provider that is not there', testProvider, { ...IN, slug: 'none' }, gone],
  ['a guardrail that is not there', testGuardrail, { ...IN, guardrail_id: 'none', text: 'x' }, gone],
  ['no text', testGuardrail, { ...IN, guardrail_id: 'none', text: '' }, invalid('text')],
  [
    'an unknown workspace',
    testProvider,
    { workspace_id: 'none', slug: 'x' },
    { ...invalid('workspace_id'), code: Code.InvalidArgument },
  ],
]);
