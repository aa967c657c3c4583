// Deployments over every protocol.
import type { DescMethod } from '@bufbuild/protobuf';
import test from 'ava';
import { DeploymentsService } from '../../gen/gateway/admin/v2/deployments_pb.ts';
import { OrganisationsService } from '../../gen/gateway/admin/v2/organisations_pb.ts';
import {
  ADMIN,
  clearing,
  FOREIGN,
  fresh,
  gone,
  ids,
  invalid,
  openStories,
  runRefused,
} from './identity-stories.ts';
import { exchange, type JsonObject, startBench } from './runner.ts';

const { createDeployment, getDeployment, listDeployments, updateDeployment, deleteDeployment } =
  DeploymentsService.method;
const { updateOrganisation } = OrganisationsService.method;
const { bench, story } = openStories(test);

story('deployments are made, changed and archived', async (t, admin) => {
  const slug = fresh('eu');
  const made = await admin.ok(createDeployment, {
    name: 'EU',
    slug,
    type: 'production',
    workspaces: ['default'],
  });
  t.deepEqual(made.workspaces, [bench().gateway.app.tenancy.workspaceId]);
  await admin.refused(t, createDeployment, { name: 'EU', slug, type: 'production', workspaces: [] }, 409);
  await admin.ok(updateDeployment, { deployment_id: slug, type: 'non-production', name: 'EU 2' });
  await admin.ok(updateDeployment, clearing(admin, { deployment_id: slug }, ['workspaces']));
  t.like(await admin.ok(getDeployment, { deployment_id: slug }), {
    name: 'EU 2',
    type: 'non-production',
    workspaces: [],
  });
  const listed = await admin.ok(listDeployments, { type: 'non-production' });
  t.true(ids(listed).includes(made.id));
  await admin.ok(deleteDeployment, { deployment_id: slug });
  await admin.refused(t, getDeployment, { deployment_id: slug }, 404);
});

test('a maximum of deployments holds for calls at the same time', async (t) => {
  const own = await startBench();
  try {
    const call = (method: DescMethod, body: JsonObject) =>
      exchange(own, { method, body, headers: ADMIN }, 'rest');
    await call(updateOrganisation, { settings: { max_production_deployments: 3 } });
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        call(createDeployment, { name: `d${i}`, type: 'production', workspaces: [] }),
      ),
    );
    t.true(outcomes.filter(({ status }) => status === 200).length <= 3);
    t.deepEqual([...new Set(outcomes.map(({ status }) => status))].toSorted(), [200, 409]);
    const { json } = await call(listDeployments, { type: 'production' });
    t.true(Number(json.total) <= 3);
  } finally {
    await own.close();
  }
});

runRefused(test, bench, [
  ['a type of deployment', createDeployment, { name: 'n', type: 'test', workspaces: [] }, invalid('type')],
  ['an unknown deployment', getDeployment, { deployment_id: FOREIGN }, gone],
]);
