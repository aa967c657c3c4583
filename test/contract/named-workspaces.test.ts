// workspace_id on every operation of the control plane, as the contract lists them: over REST in the query or the body, over
// Connect and gRPC in the metadata x-gateway-workspace-id.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { type WorkspaceUse, workspaceUseOf } from '../../src/rest/named-workspace.ts';
import { createRouteTable, type Route } from '../../src/rest/routes.ts';
import { generatedFiles, servicesOf } from '../architecture/contract.ts';
import { ok, send } from '../support/front-door.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { serviceKey } from './logs-books.ts';
import { type Made, madeIn, requestOf } from './named-workspaces.ts';
import { type Bench, exchange, type JsonObject, PROTOCOLS, type Protocol, startBench } from './runner.ts';
import { refusedOf } from './story.ts';

let bench: Bench;
let other: { id: string; slug: string };
let key: string;
let foreign: string;
test.before(async () => {
  bench = await startBench();
  other = (await ok(bench.gateway, 'POST', '/admin/workspaces', { body: { name: 'Other' } })) as typeof other;
  key = (await serviceKey(bench.gateway)).key;
  foreign = (await serviceKey(bench.gateway, other.id)).key;
});
test.after.always(() => bench?.close());

/** One route of each operation. Reads first, what ends a resource last, and a workspace after what is in it. */
const ORDER = ['GET', 'POST', 'PUT', 'DELETE'];
const seen = new Set<unknown>();
const routes = createRouteTable(servicesOf(await generatedFiles()))
  .routes.filter(({ plane, method }) => plane === Plane.CONTROL && !seen.has(method) && seen.add(method))
  .toSorted((a, b) => ORDER.indexOf(a.verb) - ORDER.indexOf(b.verb) || depthOf(b) - depthOf(a));

function depthOf({ template }: Route): number {
  return template.text.split('/').length;
}

const byUse = (use: WorkspaceUse): readonly Route[] =>
  routes.filter(({ method }) => workspaceUseOf(method) === use);

/** Operations on resources of workspaces, and those that make them. */
const inWorkspaces = [...byUse('resource'), ...byUse('field')];

/** Status, field and text of a refusal, ids taken out; only the status of an answer. */
interface Told {
  readonly status: number;
  readonly param?: string | null;
  readonly message?: string;
  readonly fields?: readonly string[];
}

async function call(
  protocol: Protocol,
  route: Route,
  body: JsonObject,
  workspace: string | undefined,
  apiKey = ADMIN_KEY,
): Promise<Told> {
  const { method, template } = route;
  const inPath = template.fields.includes('workspace_id');
  const rest = protocol === 'rest' && !inPath;
  const outcome = await exchange(
    bench,
    {
      method,
      body: rest && workspace !== undefined ? { ...body, workspace_id: workspace } : body,
      headers: {
        'x-gateway-api-key': apiKey,
        authorization: undefined,
        'x-gateway-workspace-id': rest ? undefined : workspace,
      },
    },
    protocol,
  );
  if (outcome.error === undefined) return { status: 200 };
  const { status, param, message, fields } = refusedOf(outcome);
  const known = Object.values(body).filter((value) => typeof value === 'string');
  return { status, param, message: known.reduce((text, id) => text.replaceAll(id, '<id>'), message), fields };
}

/** Operations of which nothing is there to act on, or that may not be done twice: they get as far as to say so. */
const REACHED: Readonly<Record<string, RegExp>> = {
  ResetUsageLimitEntity: /entity/,
  GetWorkspaceMember: /workspace has no/,
  UpdateWorkspaceMember: /workspace has no/,
  RemoveWorkspaceMember: /workspace has no/,
  AddWorkspaceMembers: /user/,
  CancelLogExport: /export/,
  StartLogExport: /export/,
  DownloadLogExport: /export/,
  UpdateLogExport: /export/,
  UpdateIntegrationWorkspaces: /those of the organisation are shared/,
  UpdateMcpIntegrationWorkspaces: /those of the organisation are shared/,
  DeleteMcpServerConnections: /belongs to no user/,
  GetMcpServerTokens: /belongs to no user/,
  SetMcpServerTokens: /belongs to no user/,
  DeleteMcpServerTokens: /belongs to no user/,
  GetMcpIntegrationOpenApi: /no OpenAPI document/,
  UpdateMcpIntegrationOpenApi: /another transport/,
  DeleteWorkspace: /./,
  RenderPrompt: /key/,
  UpdateFeedback: /key/,
  AcceptUserInvite: /invitation|invite|token/,
};

const unknownIds = ({ template }: Route, body: JsonObject): JsonObject => ({
  ...body,
  ...Object.fromEntries(template.fields.map((field) => [field, randomUUID()])),
});

for (const protocol of PROTOCOLS) {
  test(`a resource is found in its own workspace and in no other [${protocol}]`, async (t) => {
    t.timeout(120_000);
    const home = (await ok(bench.gateway, 'POST', '/admin/workspaces', {
      body: { name: `Home ${protocol}` },
    })) as typeof other;
    const made = await madeIn(bench.gateway, home.id, inWorkspaces);
    const found = byUse('resource').filter(({ method }) => method.name !== 'AcceptUserInvite');
    t.true(found.length > 60);
    const faults: string[] = [];
    for (const route of found) faults.push(...(await resource(t, protocol, route, made, home)));
    t.deepEqual(faults, []);
  });

  test(`what is the organisation’s takes any workspace that exists [${protocol}]`, async (t) => {
    t.timeout(120_000);
    const made: Made = {};
    for (const route of byUse('organisation')) {
      const { name } = route.method;
      const body = requestOf(route.method, route.template.fields, made);
      const plain = await call(protocol, route, body, undefined);
      for (const workspace of [other.id, other.slug]) {
        const named = await call(protocol, route, body, workspace);
        t.deepEqual(
          { status: named.status, fields: named.fields },
          { status: plain.status, fields: plain.fields },
          name,
        );
      }
      if (plain.status === 400) continue;
      const unknown = await call(protocol, route, body, 'nowhere');
      t.deepEqual([unknown.status, unknown.param], [400, 'workspace_id'], name);
    }
  });

  test(`lists and new things are for the workspace that is named [${protocol}]`, async (t) => {
    t.timeout(120_000);
    for (const route of [...byUse('field'), ...byUse('slug'), ...byUse('caller')]) {
      const { name, methodKind } = route.method;
      // The runner reads no JSON lines, and no stream that goes on.
      if (methodKind === 'server_streaming' && (protocol === 'rest' || name === 'TailLogs')) continue;
      const fields = route.template.fields.map((field) => [field, FILLED[field] ?? field]);
      const body = Object.fromEntries(fields) as JsonObject;
      for (const workspace of [other.id, other.slug]) {
        const { fields: violated = [], message } = await call(protocol, route, body, workspace);
        t.false(violated.includes('workspace_id'), `${name}: ${message}`);
        t.notRegex(message ?? '', /not a (parameter|member)/, name);
      }
      if ((await call(protocol, route, body, other.id)).status !== 200) continue;
      const unknown = await call(protocol, route, body, 'nowhere');
      const open = name === 'GetModelPricing' || name === 'ListSignInMethods';
      t.is(unknown.status, open ? 200 : 400, name);
      // A workspace's key names its own, or none.
      const own = await call(protocol, route, body, 'default', key);
      if (own.status === 200) {
        const others = await call(protocol, route, body, other.id, key);
        t.is(others.status, open ? 200 : 400, name);
      }
    }
  });
}

const FILLED: Readonly<Record<string, string>> = {
  type: 'workspace',
  sub_type: 'service',
  group_by: 'model',
  provider: 'openai',
  model: 'gpt-4o',
};

async function resource(
  t: ExecutionContext,
  protocol: Protocol,
  route: Route,
  made: Made,
  home: { readonly id: string; readonly slug: string },
): Promise<string[]> {
  const { name } = route.method;
  const body = requestOf(route.method, route.template.fields, made);
  const known = route.template.fields.includes('workspace_id');
  const absent = await call(protocol, route, unknownIds(route, body), home.id);
  for (const [apiKey, workspace] of [
    [ADMIN_KEY, other.id],
    [ADMIN_KEY, other.slug],
    [ADMIN_KEY, 'nowhere'],
    [key, other.id],
    [foreign, home.id],
  ] as const) {
    if (protocol === 'rest' && known) break;
    const elsewhere = await call(protocol, route, body, workspace, apiKey);
    if (apiKey === ADMIN_KEY) t.deepEqual(elsewhere, absent, `${name} in ${workspace}`);
    else t.true(elsewhere.status === 404 || elsewhere.status === 403 || elsewhere.status === 400, name);
  }
  const own = await call(protocol, route, body, route.verb === 'GET' ? home.slug : home.id);
  const reached = own.status === 200 || (REACHED[name]?.test(own.message ?? '') ?? false);
  return reached ? [] : [`${name}: ${JSON.stringify(own)}`];
}

test('over REST the workspace is in the query or the body, and once', async (t) => {
  const { gateway } = bench;
  const made = await madeIn(gateway, other.id, inWorkspaces);
  const path = `/guardrails/${made.guardrail_id}`;
  const status = async (verb: string, target: string, body?: JsonObject): Promise<unknown[]> => {
    const answer = await send(gateway, verb, target, body === undefined ? {} : { body });
    return [answer.status, (answer.json.error as { param?: string } | undefined)?.param];
  };
  t.deepEqual(await status('GET', `${path}?workspace_id=${other.slug}`), [200, undefined]);
  t.deepEqual(await status('GET', `${path}?workspaceId=${other.id}`), [200, undefined]);
  t.deepEqual(await status('GET', `${path}?workspace_id=`), [200, undefined]);
  t.is((await status('GET', `${path}?workspace_id=default`))[0], 404);
  t.deepEqual(await status('GET', `${path}?workspace_id=a&workspace_id=b`), [400, 'workspace_id']);
  t.deepEqual(await status('GET', `${path}?workspace_id=a&workspaceId=a`), [400, 'workspace_id']);
  t.deepEqual(await status('GET', `${path}?workspace_id=${'x'.repeat(256)}`), [400, 'workspace_id']);
  t.deepEqual(await status('GET', `${path}?colour=1&workspace_id=${other.id}`), [400, 'colour']);
  t.is((await status('PUT', `${path}?workspace_id=${other.id}`, { name: 'x' }))[0], 200);
  t.is((await status('PUT', path, { name: 'y', workspace_id: other.slug }))[0], 200);
  const policy = `/policies/usage-limits/${made['UsageLimitPoliciesService.policy_id']}`;
  t.is(
    (await status('PUT', `${policy}?workspace_id=${other.id}`, { name: 'x', workspace_id: other.id }))[0],
    200,
  );
  t.is((await status('PUT', policy, { name: 'y', workspace_id: null }))[0], 200);
  t.is((await status('PUT', policy, { name: 'y', workspace_id: 'default' }))[0], 404);
  t.deepEqual(await status('PUT', policy, { name: 'y', workspace_id: 7 }), [400, 'workspace_id']);
  t.deepEqual(await status('PUT', `${policy}?workspace_id=default`, { workspace_id: other.id }), [
    400,
    'workspace_id',
  ]);
});

test('what is the organisation’s own is reached with any workspace that exists', async (t) => {
  const { gateway } = bench;
  const body = { name: 'Shared', slug: 'shared-of-all', ai_provider_id: 'openai', key: 'sk-1234567890' };
  await ok(gateway, 'POST', '/integrations', { body });
  for (const path of ['', '/models', '/workspaces']) {
    const at = `/integrations/shared-of-all${path}?workspace_id=`;
    t.is((await send(gateway, 'GET', at + other.slug)).status, 200, path);
    t.is((await send(gateway, 'GET', `${at}nowhere`)).status, 404, path);
  }
});

test('the log and analytics of a workspace are its own', async (t) => {
  const { gateway } = bench;
  const made = await madeIn(gateway, other.id, inWorkspaces);
  const ids = async (workspace: string): Promise<unknown[]> =>
    ((await ok(gateway, 'GET', `/logs?workspace_id=${workspace}`)).data as { id: string }[]).map(
      ({ id }) => id,
    );
  t.true((await ids(other.slug)).includes(made.log_id));
  t.false((await ids('default')).includes(made.log_id));
  const conflict = await send(gateway, 'GET', `/logs?workspace_id=default&workspace_slug=${other.slug}`);
  t.is(conflict.status, 400);
});
