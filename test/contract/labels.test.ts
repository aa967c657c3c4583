// Labels over every protocol: names of the versions of prompts.
import test from 'ava';
import { LabelsService } from '../../gen/gateway/admin/v2/labels_pb.ts';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { data, newWorkspace } from './prompt-stories.ts';
import { type Bench, startBench } from './runner.ts';
import { storiesOf } from './story.ts';

const labels = LabelsService.method;
const prompts = PromptsService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);

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
