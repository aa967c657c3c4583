// The published npm SDK against the gateway: prompts with what belongs to them, run and rendered.
import test from 'ava';
import { type Stage, startStage } from './portkey/clients.ts';
import { plain, Watched } from './portkey/watched.ts';

let stage: Stage;
let watched: Watched;
test.before(async () => {
  stage = await startStage();
  watched = new Watched(stage.exchanges);
});
test.after.always(() => stage?.close());

const statusOf = (error: Error | undefined): unknown => (error as { status?: number } | undefined)?.status;
const chatText = (content: string): string => JSON.stringify([{ role: 'user', content }]);

test.serial('labels', async (t) => {
  const { labels } = stage.workspace;
  const made = await watched.call(t, 'labels.create', () =>
    labels.create({ name: 'canary', description: 'd', color_code: '#ff0000' }),
  );
  t.deepEqual(Object.keys(plain(made)), ['id']);
  const record = { name: 'canary', description: 'd', color_code: '#ff0000', is_universal: false };
  t.like(await watched.call(t, 'labels.retrieve', () => labels.retrieve(made.id)), {
    ...record,
    id: made.id,
    status: 'active',
    workspace_id: stage.workspaceId,
  });
  const list = await watched.call(t, 'labels.list', () =>
    labels.list({ search: 'can', current_page: 0, page_size: 10 }),
  );
  t.like(list, { object: 'list', total: 1, data: [{ id: made.id }] });
  t.is((await labels.list()).total, 4, 'with the three universal ones');
  await watched.done(t, 'labels.update', () => labels.update(made.id, { description: 'e' }));
  t.like(await labels.retrieve(made.id), { ...record, description: 'e' });
  const placed = await stage.admin.labels.create({ name: 'other', workspace_id: stage.workspaceId });
  t.is((await labels.retrieve(placed.id)).name, 'other');
  await watched.done(t, 'labels.delete', () => labels.delete(made.id));
  t.is(statusOf(await t.throwsAsync(async () => labels.retrieve(made.id))), 404);
  t.deepEqual(watched.missed('labels', labels), []);
});

test.serial('collections', async (t) => {
  const { collections } = stage.workspace;
  const made = await watched.call(t, 'collections.create', () => collections.create({ name: 'outer' }));
  t.deepEqual(Object.keys(plain(made)).sort(), ['id', 'slug']);
  const inner = await collections.create({ name: 'inner', parent_collection_id: made.slug });
  const one = await watched.call(t, 'collections.retrieve', () => collections.retrieve(made.id));
  t.like(one, {
    id: made.id,
    slug: made.slug,
    name: 'outer',
    is_default: 0,
    status: 'active',
    collection_details: { child_collections_count: 1, prompts_count: 0 },
    child_collections: [{ id: inner.id, name: 'inner' }],
  });
  const list = await watched.call(t, 'collections.list', () =>
    collections.list({ current_page: 0, page_size: 10, search: 'er' }),
  );
  t.like(list, { total: 2, data: [{ id: inner.id, parent_collection_id: made.id }, { id: made.id }] });
  t.is((await stage.admin.collections.list({ workspace_id: stage.workspaceId })).total, 3);
  await watched.done(t, 'collections.update', () => collections.update(inner.id, { name: 'within' }));
  t.is((await collections.retrieve(inner.id)).name, 'within');
  await watched.done(t, 'collections.delete', () => collections.delete(inner.id));
  t.is(statusOf(await t.throwsAsync(async () => collections.retrieve(inner.id))), 404);
  t.deepEqual(watched.missed('collections', collections), []);
});

test.serial('prompts: partials, versions, publishing, rendering and running', async (t) => {
  const { prompts, collections } = stage.workspace;
  const { partials } = prompts;
  await stage.admin.integrations.create({
    name: 'P',
    slug: 'prompt-provider',
    ai_provider_id: 'openai',
    key: 'sk-1234567890',
    workspace_id: stage.workspaceId,
    configurations: { custom_host: stage.provider.origin },
  });
  const partial = await watched.call(t, 'partials.create', () =>
    partials.create({ name: 'Greet', string: 'Hello', version_description: 'first' }),
  );
  t.deepEqual(Object.keys(plain(partial)).sort(), ['id', 'slug', 'version_id']);
  const folder = await collections.create({ name: 'run' });
  const version = {
    parameters: { temperature: 0.5, name: 'nobody' },
    virtual_key: 'prompt-provider',
    model: 'gpt-ok',
  };
  const made = await watched.call(t, 'prompts.create', () =>
    prompts.create({
      name: 'Prompt',
      collection_id: folder.id,
      ...version,
      string: chatText(`{{>${partial.slug}}} {{name}}`),
      version_description: 'one',
      template_metadata: { kind: 'test' },
    }),
  );
  t.like(made, { object: 'prompt' });
  t.deepEqual(Object.keys(plain(made)).sort(), ['id', 'object', 'slug', 'version_id']);
  const { slug } = made;
  const one = await watched.call(t, 'prompts.retrieve', () => prompts.retrieve(slug));
  t.like(one, {
    id: made.id,
    slug,
    name: 'Prompt',
    collection_id: folder.id,
    status: 'active',
    object: 'prompt',
    prompt_version: 1,
    prompt_version_id: made.version_id,
    prompt_version_description: 'one',
    model: 'gpt-ok',
    virtual_key: 'prompt-provider',
    template_metadata: { kind: 'test' },
    is_raw_template: 0,
    access_level: 'workspace',
    variable_components: { partials: [partial.slug], variables: ['name'] },
  });
  const list = await watched.call(t, 'prompts.list', () =>
    prompts.list({ collection_id: folder.id, current_page: 0, page_size: 5, search: 'Pro' }),
  );
  t.like(list, {
    object: 'list',
    total: 1,
    data: [{ id: made.id, slug, model: 'gpt-ok', object: 'prompt' }],
  });

  const changed = await watched.call(t, 'prompts.update', () =>
    prompts.update(slug, { ...version, string: chatText('Bye {{name}}'), version_description: 'two' }),
  );
  t.like(changed, { id: made.id, slug });
  t.truthy(changed.prompt_version_id);
  t.deepEqual(plain(await prompts.update(slug, { name: 'Renamed', template_metadata: { kind: 'b' } })), {});
  const versions = await watched.call(t, 'versions.list', () => prompts.versions.list(slug));
  t.like(versions, { object: 'list', total: 2, data: [{ prompt_version: 2 }, { prompt_version: 1 }] });
  const second = versions.data[0].id;
  t.is(second, changed.prompt_version_id);
  t.like(await watched.call(t, 'versions.retrieve', () => prompts.versions.retrieve(slug, second)), {
    prompt_version: 2,
    prompt_version_id: second,
    name: 'Renamed',
    template_metadata: { kind: 'b' },
  });
  const label = await stage.workspace.labels.create({ name: 'blue' });
  await watched.done(t, 'versions.update', () =>
    prompts.versions.update(slug, second, { label_id: label.id }),
  );
  t.is((await prompts.versions.list(slug)).data[0].label_id, label.id);

  const render = async (promptID: string, more = {}) =>
    (await prompts.render({ promptID, variables: { name: 'Ann' }, ...more })).data;
  t.deepEqual((await render(slug)).messages, [{ role: 'user', content: 'Hello Ann' }]);
  t.deepEqual((await render(`${slug}@2`)).messages, [{ role: 'user', content: 'Bye Ann' }]);
  t.deepEqual((await render(`${slug}@blue`)).messages, [{ role: 'user', content: 'Bye Ann' }]);
  t.deepEqual((await render(`${slug}@latest`)).messages, [{ role: 'user', content: 'Bye Ann' }]);
  await watched.done(t, 'prompts.publish', () => prompts.publish(slug, { version: 2 }));
  const rendered = await watched.call(t, 'prompts.render', () =>
    prompts.render({ promptID: slug, variables: { name: 'Ann' }, max_tokens: 5, temperature: 0.7 }),
  );
  t.like(rendered, {
    success: true,
    data: {
      model: 'gpt-ok',
      max_tokens: 5,
      temperature: 0.7,
      messages: [{ role: 'user', content: 'Bye Ann' }],
    },
  });

  const answer = await watched.call(t, 'completions.create', () =>
    prompts.completions.create({ promptID: slug, variables: { name: 'Ann' }, max_tokens: 7 }),
  );
  t.is(answer.object, 'chat.completion', 'the bare object that the SDK reads');
  t.is(answer.choices[0].message.content, 'Hello, wörld! 👋');
  const sent = JSON.parse(String(stage.provider.seen.at(-1)?.body)) as Record<string, unknown>;
  t.like(sent, { max_tokens: 7, temperature: 0.5, messages: [{ role: 'user', content: 'Bye Ann' }] });
  t.false('variables' in sent);
  let text = '';
  for await (const chunk of await prompts.completions.create({
    promptID: slug,
    variables: { name: 'Ann' },
    stream: true,
  }))
    text += chunk.choices[0]?.delta?.content ?? '';
  t.is(text, 'Hello, wörld! 👋');
  const unknown = await t.throwsAsync(async () => prompts.completions.create({ promptID: `${slug}@99` }));
  t.is(statusOf(unknown), 404);

  t.like(await watched.call(t, 'partials.retrieve', () => partials.retrieve(partial.slug)), {
    id: partial.id,
    slug: partial.slug,
    name: 'Greet',
    string: 'Hello',
    version: 1,
    prompt_partial_version_id: partial.version_id,
    version_description: 'first',
    status: 'active',
  });
  const partialList = await watched.call(t, 'partials.list', () => partials.list());
  t.like(partialList, { object: 'list', total: 1, data: [{ id: partial.id, object: 'partial' }] });
  t.is((await partials.list({ collection_id: folder.id })).total, 0);
  const next = await watched.call(t, 'partials.update', () =>
    partials.update(partial.slug, { string: 'Hi', description: 'second' }),
  );
  t.truthy(next.prompt_partial_version_id);
  t.deepEqual(plain(await partials.update(partial.slug, { name: 'Greeting' })), {});
  t.like(await watched.call(t, 'partials.versions.list', () => partials.versions.list(partial.slug)), {
    object: 'list',
    total: 2,
    data: [
      { version: 2, string: 'Hi', description: 'second', object: 'partial' },
      { version: 1, string: 'Hello' },
    ],
  });
  await watched.done(t, 'partials.publish', () => partials.publish(partial.slug, { version: 2 }));
  t.deepEqual((await render(`${slug}@1`)).messages, [{ role: 'user', content: 'Hi Ann' }]);

  await watched.done(t, 'prompts.delete', () => prompts.delete(slug));
  t.is(statusOf(await t.throwsAsync(async () => prompts.retrieve(slug))), 404);
  await watched.done(t, 'partials.delete', () => partials.delete(partial.slug));
  t.deepEqual(
    [
      ...watched.missed('prompts', prompts),
      ...watched.missed('versions', prompts.versions),
      ...watched.missed('completions', prompts.completions),
      ...watched.missed('partials', partials),
      ...watched.missed('partials.versions', partials.versions),
    ],
    [],
  );
});
