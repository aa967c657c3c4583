// The organisation: its name, settings, defaults, and what workspaces decide.
import type { DescMethod } from '@bufbuild/protobuf';
import test from 'ava';
import { OrganisationsService } from '../../gen/gateway/admin/v2/organisations_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { ADMIN, invalid, openStories, runRefused } from './identity-stories.ts';
import { exchange, type JsonObject, startBench } from './runner.ts';

const { getOrganisation, updateOrganisation, getOrganisationDefaults, updateOrganisationDefaults } =
  OrganisationsService.method;
const { getWorkspace, updateWorkspace } = WorkspacesService.method;
const { bench } = openStories(test);

test('the organisation has a name, settings, defaults, and categories that workspaces decide', async (t) => {
  const own = await startBench();
  try {
    const call = async (method: DescMethod, body: JsonObject = {}) => {
      const { status, json } = await exchange(own, { method, body, headers: ADMIN }, 'rest');
      return { status, json };
    };
    t.is((await call(updateOrganisation, { name: 'Acme', workspace_overrides: ['prompts'] })).status, 200);
    const { json } = await call(getOrganisation);
    t.like(json, { name: 'Acme', handle: 'default', workspace_overrides: ['prompts'] });
    const closed = { workspace_id: 'default', security_settings: { membersWriteConfigs: true } };
    t.is((await call(updateWorkspace, closed)).status, 400);
    const opened = { workspace_id: 'default', security_settings: { membersWritePrompts: true } };
    t.is((await call(updateWorkspace, opened)).status, 200);
    const shown = (await call(getWorkspace, { workspace_id: 'default' })).json
      .security_settings as JsonObject;
    t.true(shown.membersWritePrompts);
    t.is((await call(updateOrganisation, { workspace_overrides: [] })).status, 200);
    const after = (await call(getWorkspace, { workspace_id: 'default' })).json
      .security_settings as JsonObject;
    t.false(after.membersWritePrompts, 'a closed category is the organisation’s alone');
    const none = { input_guardrails: [], output_guardrails: [] };
    const given = { metadata: { env: 'x' }, ...none };
    t.deepEqual((await call(updateOrganisationDefaults, { metadata: { env: 'x' } })).json, given);
    t.deepEqual((await call(getOrganisationDefaults)).json, given);
    t.deepEqual((await call(updateOrganisationDefaults, { metadata: null })).json, { metadata: {}, ...none });
  } finally {
    await own.close();
  }
});

runRefused(test, bench, [
  ['a category', updateOrganisation, { workspace_overrides: ['all'] }, invalid('workspace_overrides[0]')],
]);
