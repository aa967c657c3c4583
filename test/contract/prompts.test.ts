// Prompts over every protocol: how they are kept, in versions, with partials, labels and collections.
import test from 'ava';
import { AuditLogsService } from '../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { CollectionsService } from '../../gen/gateway/admin/v2/collections_pb.ts';
import { LabelsService } from '../../gen/gateway/admin/v2/labels_pb.ts';
import { PromptPartialsService } from '../../gen/gateway/admin/v2/prompt_partials_pb.ts';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { type Bench, type JsonObject, startBench, UUID } from './runner.ts';
import { Caller, storiesOf } from './story.ts';

const collections = CollectionsService.method;
const labels = LabelsService.method;
const partials = PromptPartialsService.method;
const prompts = PromptsService.method;
const { createWorkspace, deleteWorkspace } = WorkspacesService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);
let count = 0;
const fresh = (word: string): string => `${word}-${++count}`;
const data = (list: JsonObject): JsonObject[] => list.data as JsonObject[];
const newWorkspace = async (admin: Caller): Promise<string> =>
  String((await admin.ok(createWorkspace, { name: fresh('ws') })).id);
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

story('partials are shared, in versions; circles are refused', async (t, admin) => {
  const workspace_id = await newWorkspace(admin);
  const made = await admin.ok(partials.createPromptPartial, {
    name: 'Sign off',
    workspace_id,
    string: 'Bye {{who}}',
  });
  t.deepEqual(Object.keys(made).sort(), ['id', 'slug', 'version_id']);
  t.regex(String(made.slug), /^pp-sign-off-[0-9a-f]{6}$/);
  const partial_id = made.slug!;
  const shown = await admin.ok(partials.getPromptPartial, { partial_id });
  t.like(shown, {
    id: made.id,
    string: 'Bye {{who}}',
    version: 1,
    prompt_partial_version_id: made.version_id,
    object: 'partial',
    status: 'active',
    prompt_partial_version_status: 'active',
    name: 'Sign off',
  });
  t.deepEqual(await admin.ok(partials.updatePromptPartial, { partial_id, name: 'Farewell' }), {});
  const second = await admin.ok(partials.updatePromptPartial, {
    partial_id,
    string: 'Ciao',
    version_description: 'it',
  });
  t.is(second.id, made.id);
  t.like(await admin.ok(partials.getPromptPartial, { partial_id }), { version: 1, name: 'Farewell' });
  t.like(await admin.ok(partials.getPromptPartial, { partial_id, version: '2' }), {
    string: 'Ciao',
    version_description: 'it',
  });
  const versions = await admin.ok(partials.listPromptPartialVersions, { partial_id });
  t.is(versions.total, 2);
  t.like(data(versions)[0], { prompt_partial_id: made.id, object: 'partial', slug: made.slug });
  t.deepEqual(await admin.ok(partials.publishPromptPartial, { partial_id, version: 2 }), {});
  t.like(await admin.ok(partials.getPromptPartial, { partial_id }), { version: 2 });

  const outer = await admin.ok(partials.createPromptPartial, {
    name: 'Outer',
    workspace_id,
    string: `{{>${partial_id}}}`,
  });
  const circle = await admin.refused(partials.updatePromptPartial, {
    partial_id,
    string: `{{>${outer.slug}}}`,
  });
  t.deepEqual([circle.status, circle.param], [400, 'string']);
  t.regex(circle.message, /include each other/);
  t.is(
    (await admin.refused(partials.updatePromptPartial, { partial_id, string: `{{>${partial_id}}}` })).status,
    400,
  );
  t.is(
    (await admin.refused(partials.createPromptPartial, { name: 'n', workspace_id, string: '{{#x}}' })).param,
    'string',
  );
  t.is((await admin.ok(partials.listPromptPartials, { workspace_id })).total, 2);
  await admin.ok(partials.deletePromptPartial, { partial_id: outer.id! });
  t.is((await admin.refused(partials.getPromptPartial, { partial_id: outer.id! })).status, 404);
  await admin.ok(partials.updatePromptPartial, { partial_id, status: 'archived' });
  t.is((await admin.refused(partials.deletePromptPartial, { partial_id })).status, 404);
});

story('labels name versions', async (t, admin) => {
  const workspace_id = await newWorkspace(admin);
  const everywhere = data(await admin.ok(labels.listLabels, { workspace_id }));
  t.deepEqual(
    everywhere.map(({ name }) => name),
    ['production', 'staging', 'development'],
  );
  t.true(everywhere.every((label) => label.is_universal === true && label.workspace_id === null));
  const production = everywhere[0]!;
  t.like(await admin.ok(labels.getLabel, { label_id: production.id! }), { name: 'production' });
  t.is((await admin.refused(labels.deleteLabel, { label_id: production.id! })).status, 403);
  t.is((await admin.refused(labels.updateLabel, { label_id: production.id!, name: 'x' })).status, 403);
  for (const name of ['latest', 'default', '12', 'a b', 'a@b', 'a.b.c', ''])
    t.is((await admin.refused(labels.createLabel, { name, workspace_id })).param, 'name', name);
  t.is((await admin.refused(labels.createLabel, { name: 'production', workspace_id })).status, 409);
  const { id: label_id = '' } = await admin.ok(labels.createLabel, {
    name: 'beta.1',
    workspace_id,
    description: 'd',
    color_code: '#fff',
  });
  t.is((await admin.refused(labels.createLabel, { name: 'beta.1', workspace_id })).status, 409);
  t.like(await admin.ok(labels.getLabel, { label_id }), {
    name: 'beta.1',
    description: 'd',
    color_code: '#fff',
    is_universal: false,
    workspace_id,
    status: 'active',
    object: 'label',
  });
  const page = await admin.ok(labels.listLabels, { workspace_id, page_size: 2, current_page: 1 });
  t.is(page.total, 4);
  t.deepEqual(
    data(page).map(({ name }) => name),
    ['staging', 'development'],
  );
  t.deepEqual(
    data(await admin.ok(labels.listLabels, { workspace_id, search: 'bet' })).map(({ name }) => name),
    ['beta.1'],
  );

  const made = await admin.ok(prompts.createPrompt, { name: 'n', workspace_id, string: 'Hi' });
  const prompt_id = made.id!;
  const second = await admin.ok(prompts.updatePrompt, { prompt_id, string: 'Hello', patch: true });
  const [one, two] = [made.version_id!, second.prompt_version_id!];
  t.deepEqual(await admin.ok(prompts.updatePromptVersion, { prompt_id, version_id: one, label_id }), {});
  t.like(await admin.ok(prompts.getPrompt, { prompt_id }), {
    prompt_version_label_id: label_id,
    prompt_version_label_name: 'beta.1',
    prompt_version_labels: [{ id: label_id, name: 'beta.1' }],
  });
  // A label is on one version of a prompt.
  await admin.ok(prompts.updatePromptVersion, { prompt_id, version_id: two, label_id });
  t.deepEqual(
    data(await admin.ok(prompts.listPromptVersions, { prompt_id }))
      .map((v) => `${v.prompt_version} ${v.label_id}`)
      .sort(),
    ['1 null', `2 ${label_id}`].sort(),
  );
  t.is(
    (await admin.refused(prompts.updatePromptVersion, { prompt_id, version_id: two, label_id: 'none' }))
      .param,
    'label_id',
  );
  t.is((await admin.refused(prompts.updatePromptVersion, { prompt_id, version_id: two })).param, 'label_id');
  await admin.ok(labels.updateLabel, { label_id, name: 'gamma' });
  t.like(await admin.ok(prompts.getPromptVersion, { prompt_id, version_id: two }), {
    prompt_version_label_name: 'gamma',
  });
  await admin.ok(labels.deleteLabel, { label_id });
  t.false(
    'prompt_version_label_id' in (await admin.ok(prompts.getPromptVersion, { prompt_id, version_id: two })),
  );
});

story('collections hold prompts and collections; each workspace has its default one', async (t, admin) => {
  const workspace_id = await newWorkspace(admin);
  const [first] = data(await admin.ok(collections.listCollections, { workspace_id }));
  t.like(first, { name: 'default', is_default: 1, workspace_id, status: 'active', object: 'collection' });
  t.regex(String(first!.slug), /^co-defaul-[0-9a-f]{6}$/);
  t.is((await admin.refused(collections.listCollections, {})).param, 'workspace_id');
  const made = await admin.ok(collections.createCollection, { name: 'Team A', workspace_id });
  t.regex(String(made.slug), /^co-team-a-[0-9a-f]{6}$/);
  const child = await admin.ok(collections.createCollection, {
    name: 'Inner',
    workspace_id,
    parent_collection_id: made.slug!,
  });
  t.is(
    (
      await admin.refused(collections.createCollection, {
        name: 'x',
        workspace_id,
        parent_collection_id: 'no',
      })
    ).status,
    404,
  );
  const list = await admin.ok(collections.listCollections, { workspace_id });
  t.is(list.total, 3);
  t.deepEqual(
    data(list)
      .map(({ id }) => id)
      .sort(),
    [first!.id!, made.id!, child.id!].sort(),
  );
  t.deepEqual(
    data(await admin.ok(collections.listCollections, { workspace_id, search: 'Te' })).map(({ id }) => id),
    [made.id!],
  );

  const prompt = await admin.ok(prompts.createPrompt, {
    name: 'n',
    workspace_id,
    string: 'Hi',
    collection_id: made.slug!,
  });
  await admin.ok(prompts.createPrompt, { name: 'm', workspace_id, string: 'Hi' });
  const shown = await admin.ok(collections.getCollection, { collection_id: made.id! });
  t.like(shown.collection_details as JsonObject, { prompts_count: 1, child_collections_count: 1 });
  t.like((shown.child_collections as JsonObject[])[0], { id: child.id, name: 'Inner' });
  const filtered = await admin.ok(prompts.listPrompts, { workspace_id, collection_id: made.slug! });
  t.deepEqual(
    data(filtered).map(({ id }) => id),
    [prompt.id!],
  );
  t.is((await admin.ok(prompts.listPrompts, { workspace_id, collection_id: first!.slug! })).total, 1);

  t.is((await admin.refused(collections.deleteCollection, { collection_id: first!.id! })).status, 404);
  t.is((await admin.refused(collections.deleteCollection, { collection_id: made.id! })).status, 409);
  await admin.ok(prompts.updatePrompt, { prompt_id: prompt.id!, collection_id: child.id! });
  await admin.ok(prompts.deletePrompt, { prompt_id: prompt.id! });
  t.deepEqual(await admin.ok(collections.deleteCollection, { collection_id: child.slug! }), {});
  t.deepEqual(await admin.ok(collections.deleteCollection, { collection_id: made.slug! }), {});
  t.is((await admin.refused(collections.getCollection, { collection_id: made.id! })).status, 404);
  t.deepEqual(await admin.ok(collections.updateCollection, { collection_id: first!.id!, name: 'Main' }), {});
  t.like(await admin.ok(collections.getCollection, { collection_id: first!.slug! }), {
    name: 'Main',
    is_default: 1,
  });
});

story('a default collection can be named before anything is in it', async (t, admin) => {
  const workspace_id = await newWorkspace(admin);
  const [first] = data(await admin.ok(collections.listCollections, { workspace_id }));
  await admin.ok(collections.updateCollection, { collection_id: first!.slug!, name: 'Main' });
  const list = await admin.ok(collections.listCollections, { workspace_id });
  t.deepEqual(
    data(list).map(({ id, name }) => [id, name]),
    [[first!.id!, 'Main']],
  );
  await admin.ok(collections.createCollection, { name: 'Next', workspace_id });
  t.is((await admin.ok(collections.listCollections, { workspace_id })).total, 2);
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
