// Prompts over every protocol: how they are kept, in versions.
import test from 'ava';
import { AuditLogsService } from '../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { CollectionsService } from '../../gen/gateway/admin/v2/collections_pb.ts';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { data, fresh, newWorkspace } from './prompt-stories.ts';
import { type Bench, type JsonObject, startBench, UUID } from './runner.ts';
import { Caller, storiesOf } from './story.ts';

const collections = CollectionsService.method;
const prompts = PromptsService.method;
const { createWorkspace, deleteWorkspace } = WorkspacesService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);
const CHAT = '[{"role":"system","content":"Be {{tone}}."},{"role":"user","content":"{{#q}}{{q}}{{/q}}"}]';

story('a prompt is made, shown, changed in versions, published and archived', async (t, admin) => {
  const own = await newWorkspace(admin);
  const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };
  const made = await admin.ok(prompts.createPrompt, {
    name: 'My first prompt',
    workspace_id: own,
    string: CHAT,
    model: 'gpt-4o-mini',
    parameters: { temperature: 0.2, tone: 'kind' },
    tools: [tool],
    tool_choice: 'auto',
    version_description: 'one',
    template_metadata: { a: 1 },
  });
  t.deepEqual(Object.keys(made).sort(), ['id', 'object', 'slug', 'version_id']);
  t.regex(String(made.id), UUID);
  t.regex(String(made.slug), /^pp-my-first-p-[0-9a-f]{6}$/);
  t.is(made.object, 'prompt');

  for (const prompt_id of [made.id!, made.slug!]) {
    const shown = await admin.ok(prompts.getPrompt, { prompt_id });
    t.like(shown, {
      id: made.id,
      slug: made.slug,
      name: 'My first prompt',
      status: 'active',
      object: 'prompt',
      prompt_version_id: made.version_id,
      prompt_version: 1,
      prompt_version_description: 'one',
      prompt_version_status: 'active',
      string: CHAT,
      model: 'gpt-4o-mini',
      is_raw_template: 0,
      access_level: 'workspace',
      prompt_owning_workspace_id: own,
      allow_all_workspaces: 0,
      tool_choice: 'auto',
      forked_from_prompt_id: null,
    });
    t.deepEqual(shown.parameters, { temperature: 0.2, tone: 'kind', model: 'gpt-4o-mini' });
    t.deepEqual(shown.tools, [tool]);
    t.deepEqual(shown.template_metadata, { a: 1 });
    t.deepEqual(shown.prompt_version_labels, []);
    t.deepEqual(shown.variable_components, {
      partials: [],
      sections: ['q'],
      variables: ['tone'],
      sectionVariables: { q: ['q'] },
      variablePartials: [],
    });
  }

  // Metadata alone makes no version; content does, and is not published.
  t.deepEqual(
    await admin.ok(prompts.updatePrompt, {
      prompt_id: made.slug!,
      name: 'Renamed',
      prompt_metadata: { b: 2 },
    }),
    {},
  );
  const second = await admin.ok(prompts.updatePrompt, {
    prompt_id: made.slug!,
    patch: true,
    string: 'Plain {{x}}',
    version_description: 'two',
  });
  t.deepEqual([second.id, second.slug], [made.id!, made.slug!]);
  t.not(second.prompt_version_id, made.version_id);
  t.like(await admin.ok(prompts.getPrompt, { prompt_id: made.id! }), {
    prompt_version: 1,
    name: 'Renamed',
    string: CHAT,
  });
  t.like(await admin.ok(prompts.getPrompt, { prompt_id: made.id!, version: 'latest' }), {
    prompt_version: 2,
    string: 'Plain {{x}}',
    prompt_version_status: 'archived',
    model: 'gpt-4o-mini',
    prompt_version_description: 'two',
  });
  const versions = await admin.ok(prompts.listPromptVersions, { prompt_id: made.id! });
  t.like(versions, { object: 'list', total: 2 });
  t.deepEqual(
    data(versions)
      .map(({ prompt_version: n, status }) => `${n} ${status}`)
      .sort(),
    ['1 active', '2 archived'].sort(),
  );
  t.like(data(versions)[0], { object: 'prompt', prompt_id: made.id, label_id: null });

  const compared = await admin.ok(prompts.comparePromptVersions, { prompt_id: made.slug! });
  t.deepEqual(compared.changed, ['string']);
  t.like(compared.from as JsonObject, { prompt_version: 1, prompt_description: 'one' });
  t.like(compared.to as JsonObject, { prompt_version: 2, id: second.prompt_version_id });
  await admin.ok(prompts.updatePrompt, {
    prompt_id: made.slug!,
    patch: true,
    string: CHAT.replace('Be', 'Stay'),
    tools: null,
    parameters: { temperature: 0.3, top_p: 1 },
  });
  const places = await admin.ok(prompts.comparePromptVersions, {
    prompt_id: made.id!,
    from: '1',
    to: 'latest',
  });
  t.deepEqual((places.changed as string[]).sort(), [
    ...['parameters.temperature', 'parameters.tone', 'parameters.top_p', 'string[0].content', 'tools'],
  ]);
  const same = await admin.ok(prompts.comparePromptVersions, {
    prompt_id: made.id!,
    from: '3',
    to: 'latest',
  });
  t.deepEqual(same.changed, []);
  t.is((await admin.refused(prompts.comparePromptVersions, { prompt_id: made.id!, from: '9' })).status, 404);
  t.is(
    (await admin.refused(prompts.comparePromptVersions, { prompt_id: made.id!, from: 'x' })).param,
    'from',
  );

  t.deepEqual(await admin.ok(prompts.publishPrompt, { prompt_id: made.id!, version: 2 }), {});
  t.like(await admin.ok(prompts.getPrompt, { prompt_id: made.id! }), {
    prompt_version: 2,
    prompt_version_status: 'active',
  });
  const one = await admin.ok(prompts.getPromptVersion, {
    prompt_id: made.slug!,
    version_id: made.version_id!,
  });
  t.like(one, { prompt_version: 1, prompt_version_status: 'archived', string: CHAT });
  t.is((await admin.refused(prompts.publishPrompt, { prompt_id: made.id!, version: 4 })).status, 404);
  t.is((await admin.refused(prompts.getPrompt, { prompt_id: made.id!, version: '9' })).status, 404);
  t.is(
    (await admin.refused(prompts.getPromptVersion, { prompt_id: made.id!, version_id: made.id! })).status,
    404,
  );

  const other = await admin.ok(prompts.createPrompt, { name: 'Other', workspace_id: own, string: 'Hi' });
  const list = await admin.ok(prompts.listPrompts, { workspace_id: own });
  t.deepEqual(
    data(list)
      .map(({ id }) => id)
      .sort(),
    [made.id!, other.id!].sort(),
  );
  t.true(data(list).every((item) => !('string' in item) && item.object === 'prompt'));
  t.deepEqual(
    data(await admin.ok(prompts.listPrompts, { workspace_id: own, search: 'Ren' })).map(({ id }) => id),
    [made.id!],
  );
  t.deepEqual(await admin.ok(prompts.deletePrompt, { prompt_id: other.slug! }), {});
  t.is((await admin.refused(prompts.getPrompt, { prompt_id: other.id! })).status, 404);
  t.is((await admin.ok(prompts.listPrompts, { workspace_id: own })).total, 1);
});

story('prompts are refused for what model calls would not take', async (t, admin) => {
  const workspace_id = await newWorkspace(admin);
  const make = (more: JsonObject) =>
    admin.refused(prompts.createPrompt, { name: 'n', workspace_id, string: CHAT, ...more });
  for (const [more, field] of [
    [{ string: 'Hi {{name' }, 'string'],
    [{ string: 'Hi {{>pp-none}}' }, 'string'],
    [{ string: '[{"role":"","content":"x"}]' }, 'string.messages[0].role'],
    [{ string: '[{"role":"user","content":7}]' }, 'string.messages[0].content'],
    [{ parameters: { temperature: 9 } }, 'parameters.temperature'],
    [{ parameters: { max_tokens: 'many' } }, 'parameters.max_tokens'],
    [{ tools: [{ type: '' }] }, 'tools[0].type'],
    [{ collection_id: 'co-none' }, 'collection_id'],
    [{ virtual_key: 'nobody' }, 'virtual_key'],
    [{ name: ' ' }, 'name'],
    [{ workspace_id: 'nowhere' }, 'workspace_id'],
    [{ template_metadata: { text: 'x'.repeat(70_000) } }, 'template_metadata'],
  ] as const) {
    const { status, param } = await make(more as JsonObject);
    t.deepEqual([status, param], [400, field]);
  }
  const made = await admin.ok(prompts.createPrompt, { name: 'n', workspace_id, string: CHAT, model: 'm' });
  const prompt_id = made.id!;
  t.deepEqual((await admin.refused(prompts.updatePrompt, { prompt_id, string: 'x' })).fields, [
    'parameters',
    'model',
  ]);
  t.is((await admin.refused(prompts.updatePrompt, { prompt_id: 'pp-none', name: 'x' })).status, 404);
  const twice = { prompt_id, template_metadata: { a: 1 }, prompt_metadata: { b: 1 } };
  t.is((await admin.refused(prompts.updatePrompt, twice)).param, 'prompt_metadata');
});

test('changes of prompts are in the audit log, with what changed', async (t) => {
  const admin = new Caller(() => bench, 'rest');
  const made = await admin.ok(prompts.createPrompt, { name: 'audited', string: 'Hi {{x}}' });
  await admin.ok(prompts.updatePrompt, { prompt_id: made.id!, string: 'Ho {{x}}', patch: true });
  await admin.ok(prompts.publishPrompt, { prompt_id: made.id!, version: 2 });
  const list = await admin.ok(AuditLogsService.method.listAuditLogs, {});
  const own = (list.records as JsonObject[]).filter((entry) =>
    JSON.stringify(entry).includes(String(made.id)),
  );
  t.is(own.length, 3, JSON.stringify(list).slice(0, 500));
  t.true(JSON.stringify(own).includes('Ho {{x}}'));
});

test('changes at once make versions of their own, and one default collection', async (t) => {
  const admin = new Caller(() => bench, 'rest');
  const workspace_id = await newWorkspace(admin);
  const made = await Promise.all(
    Array.from({ length: 6 }, () =>
      admin.ok(prompts.createPrompt, { name: 'at once', workspace_id, string: 'Hi' }),
    ),
  );
  t.is((await admin.ok(prompts.listPrompts, { workspace_id })).total, 6);
  t.is((await admin.ok(collections.listCollections, { workspace_id })).total, 1);
  const prompt_id = made[0]!.id!;
  await Promise.all(
    Array.from({ length: 4 }, (_, i) =>
      admin.ok(prompts.updatePrompt, { prompt_id, string: `Hi ${i}`, patch: true }),
    ),
  );
  const versions = data(await admin.ok(prompts.listPromptVersions, { prompt_id }));
  t.deepEqual(versions.map((one) => Number(one.prompt_version)).sort(), [1, 2, 3, 4, 5]);
});

test('a workspace with prompts is not deleted by mistake', async (t) => {
  const admin = new Caller(() => bench, 'rest');
  const name = fresh('full');
  const workspace_id = String((await admin.ok(createWorkspace, { name })).id);
  const { slug } = await admin.ok(prompts.createPrompt, { name: 'kept', workspace_id, string: 'Hi' });
  const refused = await admin.refused(deleteWorkspace, { workspace_id, name });
  t.is(refused.status, 409);
  t.regex(refused.message, /prompts/);
  t.is((await admin.ok(prompts.getPrompt, { prompt_id: slug! })).slug, slug!);
});
