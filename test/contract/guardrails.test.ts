// Saved guardrails over every protocol: how they are kept, and how calls pass them.
import test from 'ava';
import { ApiKeysService } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { ConfigsService } from '../../gen/gateway/admin/v2/configs_pb.ts';
import { GuardrailsService } from '../../gen/gateway/admin/v2/guardrails_pb.ts';
import { OrganisationsService } from '../../gen/gateway/admin/v2/organisations_pb.ts';
import { WorkspaceExclusionsService } from '../../gen/gateway/admin/v2/workspace_exclusions_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { GeminiService } from '../../gen/gateway/inference/v2/gemini_pb.ts';
import { type Bench, type JsonObject, type Outcome, startBench, UUID } from './runner.ts';
import { Caller, refusedOf, storiesOf } from './story.ts';

const {
  createGuardrail,
  listGuardrails,
  getGuardrail,
  updateGuardrail,
  deleteGuardrail,
  listGuardrailVersions,
} = GuardrailsService.method;
const { createConfig, deleteConfig } = ConfigsService.method;
const { createApiKey } = ApiKeysService.method;
const { createWorkspace, updateWorkspace, getWorkspace } = WorkspacesService.method;
const { getOrganisationDefaults, updateOrganisationDefaults } = OrganisationsService.method;
const { getWorkspaceExclusions, updateWorkspaceExclusions } = WorkspaceExclusionsService.method;
const { createChatCompletion } = ChatService.method;
const { generateContent } = GeminiService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const story = storiesOf(() => bench);
let count = 0;
const fresh = (word: string): string => `${word}-${++count}`;
const data = (list: JsonObject): JsonObject[] => list.data as JsonObject[];

/** Denies what has the word in it. */
const without = (word: string): JsonObject => ({
  checks: [{ id: 'default.contains', parameters: { words: [word], operator: 'none' } }],
  actions: { deny: true, async: false },
});

async function place(admin: Caller): Promise<{ id: string; caller: Caller }> {
  const { id } = await admin.ok(createWorkspace, { name: fresh('ws') });
  const { key } = await admin.ok(createApiKey, {
    type: 'workspace',
    sub_type: 'service',
    name: fresh('key'),
    workspace_id: id!,
    scopes: [
      ...[
        'completions.write',
        'guardrails.create',
        'guardrails.read',
        'guardrails.update',
        'guardrails.delete',
      ],
      ...['guardrails.list', 'configs.create', 'configs.delete', 'configs.update'],
    ],
  });
  return { id: String(id), caller: admin.as(String(key)) };
}

const target = (more: JsonObject = {}): JsonObject => ({
  provider: 'openai',
  api_key: 'sk-x',
  custom_host: bench.provider.origin,
  ...more,
});

function say(caller: Caller, text: string, config: JsonObject | string): Promise<Outcome> {
  return caller.exchange(
    createChatCompletion,
    { model: 'gpt-4o-mini', messages: [{ role: 'user', content: text }] },
    {
      'x-gateway-provider': undefined,
      'x-gateway-custom-host': undefined,
      'x-gateway-config': typeof config === 'string' ? config : JSON.stringify(config),
    },
  );
}

const denial = async (outcome: Promise<Outcome>): Promise<number> => {
  const done = await outcome;
  return done.error === undefined ? 200 : refusedOf(done).status;
};

story('text is checked where a provider reads it: in predictions and in text files', async (t, admin) => {
  const { caller } = await place(admin);
  const headers = {
    'x-gateway-provider': undefined,
    'x-gateway-custom-host': undefined,
    'x-gateway-config': JSON.stringify(
      target({
        input_guardrails: [{ deny: true, 'default.contains': { words: ['zebra'], operator: 'none' } }],
      }),
    ),
  };
  const hi = { role: 'user', content: 'hi' };
  for (const [word, expected] of [
    ['zebra', 446],
    ['horse', 200],
  ] as const) {
    const file = Buffer.from(`a ${word}`).toString('base64');
    for (const [what, method, body] of [
      [
        'prediction',
        createChatCompletion,
        { messages: [hi], prediction: { type: 'content', content: word } },
      ],
      [
        'parts of a prediction',
        createChatCompletion,
        { messages: [hi], prediction: { type: 'content', content: [{ type: 'text', text: word }] } },
      ],
      [
        'file',
        createChatCompletion,
        {
          messages: [
            {
              role: 'user',
              content: [
                { type: 'file', file: { filename: 'a', file_data: `data:text/plain;base64,${file}` } },
              ],
            },
          ],
        },
      ],
      [
        'inlineData',
        generateContent,
        {
          contents: [
            { role: 'user', parts: [{ text: 'hi' }, { inlineData: { mimeType: 'text/plain', data: file } }] },
          ],
        },
      ],
    ] satisfies [string, typeof createChatCompletion | typeof generateContent, JsonObject][]) {
      const status = await denial(caller.exchange(method, { model: 'gpt-ok', ...body }, headers));
      if (expected === 446) t.is(status, 446, what);
      else t.not(status, 446, what);
    }
  }
});

story('a guardrail is saved, shown, listed, changed and archived', async (t, admin) => {
  const { id: workspace, caller } = await place(admin);
  const made = await caller.ok(createGuardrail, {
    name: 'No secrets',
    checks: [
      { id: 'default.contains', parameters: { words: ['x'], operator: 'none' }, name: 'words' },
      {
        id: 'default.webhook',
        is_enabled: false,
        parameters: {
          webhookURL: 'https://hooks.example/x',
          headers: { Authorization: 'Bearer hook-secret-0123456789' },
        },
      },
    ],
    actions: { deny: true, async: false, on_fail: { feedback: { value: -5, weight: 1, metadata: '' } } },
  });
  t.deepEqual(Object.keys(made).sort(), ['id', 'object', 'slug', 'version_id']);
  t.regex(String(made.id), UUID);
  t.regex(String(made.slug), /^pg-no-sec-[0-9a-f]{6}$/);
  for (const guardrail_id of [made.slug!, made.id!]) {
    const shown = await caller.ok(getGuardrail, { guardrail_id });
    t.like(shown, {
      id: made.id,
      slug: made.slug,
      name: 'No secrets',
      workspace_id: workspace,
      status: 'active',
      object: 'guardrail',
      version_id: made.version_id,
      actions: { deny: true, async: false, on_fail: { feedback: { value: -5 } } },
    });
    t.false(JSON.stringify(shown).includes('hook-secret'));
    t.like((shown.checks as JsonObject[])[1], { id: 'default.webhook', is_enabled: false });
  }
  const renamed = await caller.ok(updateGuardrail, { guardrail_id: made.slug!, name: 'Other' });
  t.is(renamed.version_id, made.version_id);
  const changed = await caller.ok(updateGuardrail, { guardrail_id: made.slug!, actions: { deny: false } });
  t.not(changed.version_id, made.version_id);
  const versions = await caller.ok(listGuardrailVersions, { guardrail_id: made.slug! });
  t.deepEqual(
    data(versions)
      .map(({ version_id }) => version_id)
      .sort(),
    [made.version_id!, changed.version_id!].sort(),
  );
  t.true(data(versions).every(({ checks }) => (checks as JsonObject[]).length === 2));

  const list = await caller.ok(listGuardrails);
  t.like(list, { object: 'list', total: 1, data: [{ id: made.id, name: 'Other' }] });
  t.false('checks' in data(list)[0]!);
  t.is((await admin.ok(listGuardrails, { workspace_id: workspace, ids: String(made.id) })).total, 1);
  t.is((await caller.ok(listGuardrails, { ids: bench.gateway.app.tenancy.organisationId })).total, 0);
  t.deepEqual(await caller.ok(deleteGuardrail, { guardrail_id: made.id! }), {});
  t.is((await caller.refused(getGuardrail, { guardrail_id: made.slug! })).status, 404);
});

story('a guardrail is refused with every fault and its path', async (t, admin) => {
  const refused = await admin.refused(createGuardrail, {
    name: 'Faulty',
    checks: [
      { id: 'default.unheardOf', parameters: {} },
      { id: 'default.contains', parameters: { words: 5, operator: 'most' } },
    ],
    actions: { deny: 'yes' },
  });
  t.is(refused.status, 400);
  t.deepEqual([...refused.fields].sort(), [
    'actions.deny',
    'checks[0].id',
    'checks[1].parameters.operator',
    'checks[1].parameters.words',
  ]);
  t.is((await admin.refused(createGuardrail, { name: 'n', checks: [], actions: {} })).param, 'checks');
  t.is(
    (await admin.refused(createGuardrail, { name: 'n', ...without('x'), organisation_id: 'o' })).param,
    'organisation_id',
  );
});

story('configs name guardrails by slug and id, and changes count at once', async (t, admin) => {
  const { caller } = await place(admin);
  const stranger = (await place(admin)).caller;
  const made = await caller.ok(createGuardrail, { name: 'words', ...without('forbidden') });
  const [slug, id] = [String(made.slug), String(made.id)];
  for (const config of [
    target({ input_guardrails: [slug] }),
    target({ input_guardrails: [id] }),
    target({ before_request_hooks: [{ id }] }),
    target({ strategy: { mode: 'fallback' }, targets: [{ input_guardrails: [slug] }] }),
  ]) {
    t.is(await denial(say(caller, 'a forbidden word', config)), 446);
    t.is(await denial(say(caller, 'a word', config)), 200);
    t.is(await denial(say(stranger, 'a word', config)), 400);
  }
  const saved = await caller.ok(createConfig, {
    name: 'guarded',
    config: target({ input_guardrails: [slug] }),
  });
  t.is(await denial(say(caller, 'forbidden', String(saved.slug))), 446);
  await caller.ok(updateGuardrail, { guardrail_id: slug, ...without('banned') });
  t.is(await denial(say(caller, 'forbidden', String(saved.slug))), 200);
  t.is(await denial(say(caller, 'banned', String(saved.slug))), 446);

  const theirs = await stranger.refused(createConfig, {
    name: 'x',
    config: target({ input_guardrails: [slug, 'pg-none'] }),
  });
  t.deepEqual(theirs.fields, ['config.input_guardrails[0]', 'config.input_guardrails[1]']);
  // A check of requests cannot stand behind answers.
  const models = await caller.ok(createGuardrail, {
    name: 'models',
    actions: { deny: true },
    checks: [{ id: 'default.allowedRequestTypes', parameters: { allowedTypes: ['chatComplete'] } }],
  });
  const behind = await caller.refused(createConfig, {
    name: 'x',
    config: target({ output_guardrails: [models.slug!] }),
  });
  t.deepEqual(behind.fields, ['config.output_guardrails[0]']);
  await caller.ok(deleteGuardrail, { guardrail_id: models.id! });
  const used = await caller.refused(deleteGuardrail, { guardrail_id: slug });
  t.is(used.status, 409);
  t.true(used.message.includes(String(saved.id)));
  await caller.ok(deleteConfig, { slug: saved.slug! });
  await caller.ok(deleteGuardrail, { guardrail_id: slug });
  // A target without the guardrail must not take the call in its place.
  const missing = target({ strategy: { mode: 'fallback' }, targets: [{ input_guardrails: [slug] }, {}] });
  t.is(await denial(say(caller, 'banned', missing)), 400);
});

story(
  'an answer that is kept passed the guardrails that there are, not those that were',
  async (t, admin) => {
    const { id, caller } = await place(admin);
    const cached = target({ cache: { mode: 'simple' } });
    const text = fresh(`kept ${admin.protocol}`);
    const first = await say(caller, text, cached);
    t.is(first.headers.get('x-gateway-cache-status'), 'MISS');
    t.is((await say(caller, text, cached)).headers.get('x-gateway-cache-status'), 'HIT');
    const said = String(
      (first.json.choices as JsonObject[])[0]?.message && JSON.stringify(first.json.choices),
    );
    const [word = ''] = /[A-Za-z]{4,}/.exec(/"content":"([^"]+)"/.exec(said)?.[1] ?? '') ?? [];
    t.not(word, '');
    const made = await caller.ok(createGuardrail, { name: 'words', ...without('nowhere-to-be-found') });
    await admin.ok(updateWorkspace, { workspace_id: id, defaults: { output_guardrails: [made.id!] } });
    t.is((await say(caller, text, cached)).headers.get('x-gateway-cache-status'), 'MISS');
    t.is((await say(caller, text, cached)).headers.get('x-gateway-cache-status'), 'HIT');
    await caller.ok(updateGuardrail, { guardrail_id: made.id!, ...without(word) });
    t.is(await denial(say(caller, text, cached)), 446);
  },
);

story("a workspace's guardrails stand around every call, also one without a config", async (t, admin) => {
  const { id, caller } = await place(admin);
  const made = await caller.ok(createGuardrail, { name: 'words', ...without('forbidden') });
  await admin.ok(updateWorkspace, {
    workspace_id: id,
    defaults: { input_guardrails: [made.slug!], output_guardrails: [made.id!] },
  });
  t.deepEqual((await admin.ok(getWorkspace, { workspace_id: id })).defaults, {
    input_guardrails: [made.slug!],
    output_guardrails: [made.id!],
  });
  t.is(await denial(say(caller, 'forbidden', target())), 446);
  t.is(await denial(say(caller, 'fine', target())), 200);
  const plain = (text: string) =>
    caller.exchange(
      createChatCompletion,
      { model: 'gpt-4o-mini', messages: [{ role: 'user', content: text }] },
      {
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': bench.provider.origin,
        authorization: 'Bearer sk-x',
      },
    );
  t.is(await denial(plain('forbidden')), 446);
  t.is(await denial(plain('fine')), 200);
  t.is((await caller.refused(deleteGuardrail, { guardrail_id: made.id! })).status, 409);
  const unknown = await admin.refused(updateWorkspace, {
    workspace_id: id,
    defaults: { input_guardrails: ['pg-none'] },
  });
  t.deepEqual([unknown.status, unknown.param], [400, 'defaults.input_guardrails[0]']);
  await admin.ok(updateWorkspace, { workspace_id: id, defaults: null });
  t.is(await denial(plain('forbidden')), 200);
  await caller.ok(deleteGuardrail, { guardrail_id: made.id! });
});

story('a config puts no text into a request behind the guardrails of every call', async (t, admin) => {
  const { id, caller } = await place(admin);
  const made = await caller.ok(createGuardrail, { name: 'words', ...without('forbidden') });
  await admin.ok(updateWorkspace, { workspace_id: id, defaults: { input_guardrails: [made.slug!] } });
  const messages = [{ role: 'user', content: 'forbidden' }];
  t.is(await denial(say(caller, 'fine', target({ override_params: { messages } }))), 400);
  t.is(await denial(say(caller, 'fine', target({ targets: [{ override_params: { messages } }] }))), 400);
  t.is(await denial(say(caller, 'fine', target({ override_params: { temperature: 0 } }))), 200);
  await admin.ok(updateWorkspace, { workspace_id: id, defaults: null });
  t.is(await denial(say(caller, 'fine', target({ override_params: { messages } }))), 200);
});

test.serial("the organisation's guardrails stand around the calls of every workspace", async (t) => {
  const admin = new Caller(() => bench, 'rest');
  const { id, caller } = await place(admin);
  const word = fresh('organisationwide');
  const made = await admin.ok(createGuardrail, { name: 'everywhere', ...without(word) });
  t.is((await admin.ok(getGuardrail, { guardrail_id: made.id! })).workspace_id, null);
  const { organisationId } = bench.gateway.app.tenancy;
  const own = await admin.ok(listGuardrails, { organisation_id: organisationId });
  t.deepEqual(
    data(own).map((one) => one.id),
    [made.id!],
  );
  // Every workspace may look at it and name it; only organisation keys change it.
  t.is((await caller.ok(getGuardrail, { guardrail_id: made.slug! })).id, made.id);
  t.is((await caller.refused(updateGuardrail, { guardrail_id: made.slug!, name: 'mine' })).status, 404);
  t.is(await denial(say(caller, word, target({ input_guardrails: [made.slug!] }))), 446);
  t.is(await denial(say(caller, word, target())), 200);

  const local = await caller.ok(createGuardrail, { name: 'local', ...without('x') });
  // A workspace that is named beside the guardrail must be its own.
  const placed = (guardrail_id: string, workspace_id: string) => ({
    guardrail_id,
    workspace_id,
    name: 'seen',
  });
  t.is((await admin.ok(updateGuardrail, placed(String(local.slug), id))).id, local.id);
  t.is((await admin.refused(updateGuardrail, placed(String(made.slug), id))).status, 404);
  t.is((await admin.refused(updateGuardrail, placed(String(local.slug), 'absent'))).status, 404);
  const elsewhere = await place(admin);
  t.is((await admin.refused(updateGuardrail, placed(String(local.slug), elsewhere.id))).status, 404);
  t.is((await caller.refused(updateGuardrail, placed(String(local.slug), elsewhere.id))).status, 404);
  const refused = await admin.refused(updateOrganisationDefaults, { input_guardrails: [local.id!] });
  t.is(refused.param, 'input_guardrails[0]');
  const defaults = await admin.ok(updateOrganisationDefaults, { input_guardrails: [made.slug!] });
  t.deepEqual(defaults, {
    metadata: {},
    input_guardrails: [{ id: made.id!, slug: made.slug! }],
    output_guardrails: [],
  });
  t.deepEqual(await admin.ok(getOrganisationDefaults), defaults);
  t.is(await denial(say(caller, word, target())), 446);
  t.is((await admin.refused(deleteGuardrail, { guardrail_id: made.id! })).status, 409);

  // Left out: for what the organisation says, and for requests alone.
  const kind = 'input-guardrails';
  const excluded = await admin.ok(updateWorkspaceExclusions, {
    kind,
    workspaces: [{ workspace_id: id, excluded: true }],
  });
  t.deepEqual(
    (excluded.workspaces as JsonObject[])
      .filter((one) => one.excluded)
      .map(({ workspace_id }) => workspace_id),
    [id],
  );
  t.deepEqual(await admin.ok(getWorkspaceExclusions, { kind }), excluded);
  const outputs = await admin.ok(getWorkspaceExclusions, { kind: 'output-guardrails' });
  t.true((outputs.workspaces as JsonObject[]).every((one) => !one.excluded));
  t.is(await denial(say(caller, word, target())), 200);
  t.deepEqual(await admin.ok(getOrganisationDefaults), defaults);
  await admin.ok(updateWorkspaceExclusions, { kind, workspaces: [], override_existing: true });
  t.is(await denial(say(caller, word, target())), 446);
  const nowhere = { kind, workspaces: [{ workspace_id: 'nowhere', excluded: true }] };
  t.is((await admin.refused(updateWorkspaceExclusions, nowhere)).param, 'workspaces[0].workspace_id');
  t.is((await admin.refused(getWorkspaceExclusions, { kind: 'tea' })).param, 'kind');

  await admin.ok(updateOrganisationDefaults, { input_guardrails: null });
  t.is(await denial(say(caller, word, target())), 200);
  await admin.ok(deleteGuardrail, { guardrail_id: made.id! });
});
