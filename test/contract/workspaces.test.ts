// Workspaces over every protocol.
import test from 'ava';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import {
  clearing,
  FOREIGN,
  forbidden,
  fresh,
  gone,
  ids,
  invalid,
  openStories,
  runRefused,
} from './identity-stories.ts';
import type { JsonObject } from './runner.ts';

const { createWorkspace, listWorkspaces, getWorkspace, updateWorkspace, deleteWorkspace } =
  WorkspacesService.method;
const { bench, story } = openStories(test);

story('a workspace is made, found by id and slug, changed in part, and archived', async (t, admin) => {
  const slug = fresh('team');
  const made = await admin.ok(createWorkspace, {
    name: `Team ${slug}`,
    slug,
    description: 'd',
    icon: '🚀',
    usage_limits: [{ type: 'cost', credit_limit: 10.5, alert_threshold: 5, periodic_reset: 'monthly' }],
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 100 }],
    defaults: { metadata: { team: 'a' } },
  });
  t.like(made, {
    slug,
    name: `Team ${slug}`,
    description: 'd',
    status: 'active',
    object: 'workspace',
    is_default: 0,
  });
  const [limit] = made.usage_limits as JsonObject[];
  t.like(limit, { type: 'cost', credit_limit: 10.5, periodic_reset: 'monthly' });
  t.regex(String(limit?.next_usage_reset_at), /^\d{4}-\d\d-01T00:00:00\.000Z$/);
  const workspaceId = String(made.id);

  const byId = await admin.ok(getWorkspace, { workspace_id: workspaceId });
  const bySlug = await admin.ok(getWorkspace, { workspace_id: slug, name_format: 'display' });
  t.is(byId.id, bySlug.id);
  t.is(bySlug.name, `🚀 Team ${slug}`);

  t.deepEqual(await admin.ok(updateWorkspace, { workspace_id: slug, name: `Other ${slug}` }), {});
  const renamed = await admin.ok(getWorkspace, { workspace_id: slug });
  t.like(renamed, { name: `Other ${slug}`, description: 'd', icon: '🚀' });
  t.deepEqual(renamed.usage_limits, made.usage_limits, 'what is not given stays');

  await admin.ok(updateWorkspace, clearing(admin, { workspace_id: slug }, ['description', 'usage_limits']));
  const cleared = await admin.ok(getWorkspace, { workspace_id: slug });
  t.like(cleared, { description: null, usage_limits: [], icon: '🚀' });

  const listed = await admin.ok(listWorkspaces, { exact_name: `Other ${slug}`, page_size: 1000 });
  t.true(ids(listed).includes(workspaceId));
  await admin.refused(t, deleteWorkspace, { workspace_id: slug, name: `Team ${slug}` }, 400, 'name');
  await admin.ok(deleteWorkspace, { workspace_id: slug, name: `Other ${slug}` });
  await admin.refused(t, getWorkspace, { workspace_id: slug }, 404);
  const archived = await admin.ok(listWorkspaces, { status: 'archived', page_size: 1000 });
  t.true(ids(archived).includes(workspaceId));
  // The slug is free again.
  await admin.ok(createWorkspace, { name: `Third ${slug}`, slug });
  await admin.refused(t, createWorkspace, { name: `Fourth ${slug}`, slug }, 409);
});

const limits = (limit: JsonObject): JsonObject => ({ name: 'n', usage_limits: [limit] });

runRefused(test, bench, [
  ['no name', createWorkspace, { name: '' }, invalid('name')],
  ['a blank name', createWorkspace, { name: '  ' }, invalid('name')],
  ['a bad slug', createWorkspace, { name: 'n', slug: 'a b' }, invalid('slug')],
  ['an unknown user', createWorkspace, { name: 'n', users: [FOREIGN] }, invalid('users[0]')],
  [
    'an unknown setting',
    createWorkspace,
    { name: 'n', security_settings: { x: true } },
    invalid('security_settings.x'),
  ],
  ['no type of limit', createWorkspace, limits({ credit_limit: 5 }), invalid('usage_limits[0].type')],
  [
    'no credit',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 0 }),
    invalid('usage_limits[0].credit_limit'),
  ],
  [
    'few tokens',
    createWorkspace,
    limits({ type: 'tokens', credit_limit: 50 }),
    invalid('usage_limits[0].credit_limit'),
  ],
  [
    'days out of range',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, periodic_reset_days: 366 }),
    invalid('usage_limits[0].periodic_reset_days'),
  ],
  [
    'no days',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, periodic_reset_days: 0 }),
    invalid('usage_limits[0].periodic_reset_days'),
  ],
  [
    'both resets',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, periodic_reset: 'weekly', periodic_reset_days: 5 }),
    invalid('usage_limits[0].periodic_reset_days'),
  ],
  [
    'a reset in the past',
    createWorkspace,
    limits({
      type: 'cost',
      credit_limit: 5,
      periodic_reset: 'weekly',
      next_usage_reset_at: '2020-01-01T00:00:00Z',
    }),
    invalid('usage_limits[0].next_usage_reset_at'),
  ],
  [
    'a reset of nothing',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, next_usage_reset_at: '2099-01-01T00:00:00Z' }),
    invalid('usage_limits[0].next_usage_reset_at'),
  ],
  [
    'a threshold above',
    createWorkspace,
    limits({ type: 'cost', credit_limit: 5, alert_threshold: 6 }),
    invalid('usage_limits[0].alert_threshold'),
  ],
  [
    'a rate per second',
    createWorkspace,
    { name: 'n', rate_limits: [{ type: 'requests', unit: 'rps', value: 1 }] },
    invalid('rate_limits[0].unit'),
  ],
  [
    'a negative rate',
    createWorkspace,
    { name: 'n', rate_limits: [{ type: 'requests', unit: 'rpm', value: -1 }] },
    invalid('rate_limits[0].value'),
  ],
  [
    'a rate twice',
    createWorkspace,
    {
      name: 'n',
      rate_limits: [
        { type: 'tokens', unit: 'rpm', value: 1 },
        { type: 'tokens', unit: 'rpm', value: 2 },
      ],
    },
    invalid('rate_limits[1]'),
  ],
  ['a page below', listWorkspaces, { current_page: -1 }, invalid('current_page')],
  ['no page', listWorkspaces, { page_size: 0 }, invalid('page_size')],
  ['a page too large', listWorkspaces, { page_size: 1001 }, invalid('page_size')],
  ['a status that is none', listWorkspaces, { status: 'gone' }, invalid('status')],
  ['an unknown workspace', getWorkspace, { workspace_id: FOREIGN }, gone],
  ['an unknown workspace to change', updateWorkspace, { workspace_id: FOREIGN, name: 'x' }, gone],
  ['an unknown workspace to archive', deleteWorkspace, { workspace_id: FOREIGN, name: 'x' }, gone],
  [
    'the default workspace',
    deleteWorkspace,
    { workspace_id: 'default', name: 'Default workspace' },
    invalid('workspace_id'),
  ],
  ['a workspace key makes no workspace', createWorkspace, { name: 'n' }, forbidden, WORKSPACE_KEY],
]);
