// Partials of prompts over every protocol: shared, in versions, never in circles.
import test from 'ava';
import { PromptPartialsService } from '../../gen/gateway/admin/v2/prompt_partials_pb.ts';
import { data, newWorkspace } from './prompt-stories.ts';
import { type Bench, startBench } from './runner.ts';
import { storiesOf } from './story.ts';

const partials = PromptPartialsService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);

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
