// Collections over every protocol: prompts and collections in them, and the default one.
import test from 'ava';
import { CollectionsService } from '../../gen/gateway/admin/v2/collections_pb.ts';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { data, newWorkspace } from './prompt-stories.ts';
import { type Bench, type JsonObject, startBench } from './runner.ts';
import { storiesOf } from './story.ts';

const collections = CollectionsService.method;
const prompts = PromptsService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);

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
