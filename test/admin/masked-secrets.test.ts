// Credentials in what callers save: never shown, never lost, never sent elsewhere.
import test from 'ava';
import fc from 'fast-check';
import { type MaskFault, masked, unmasked } from '../../src/admin/kit/masked-secrets.ts';
import type { JsonObject } from '../../src/store/collection.ts';

const LONG = 'sk-0123456789abcdefghij';
const config: JsonObject = {
  strategy: { mode: 'fallback' },
  targets: [
    {
      provider: 'openai',
      api_key: LONG,
      virtual_key: 'open',
      override_params: { max_tokens: 5, token: 'mine' },
    },
    {
      provider: 'azure-openai',
      apiKey: 'short',
      azure_entra_client_secret: `${LONG}2`,
      custom_host: 'https://a.example',
    },
    {
      provider: 'vertex-ai',
      vertex_service_account_json: { private_key: LONG, client_email: 'service@example.com' },
    },
    {
      input_guardrails: [
        {
          'default.webhook': { webhookURL: 'https://h.example', headers: { 'X-Hook': LONG, Accept: '*/*' } },
        },
      ],
    },
    { input_guardrails: [{ 'default.jsonKeys': { keys: ['token'], operator: 'all' } }] },
  ],
};

test('texts under the names of credentials are masked, and nothing else', (t) => {
  t.deepEqual(masked(config), {
    strategy: { mode: 'fallback' },
    targets: [
      {
        provider: 'openai',
        api_key: 'sk-******ghij',
        virtual_key: 'open',
        override_params: { max_tokens: 5, token: 'mine' },
      },
      {
        provider: 'azure-openai',
        apiKey: '******',
        azure_entra_client_secret: 'sk-******hij2',
        custom_host: 'https://a.example',
      },
      {
        provider: 'vertex-ai',
        vertex_service_account_json: { private_key: 'sk-******ghij', client_email: 'ser******.com' },
      },
      {
        input_guardrails: [
          {
            'default.webhook': {
              webhookURL: 'https://h.example',
              headers: { 'X-Hook': 'sk-******ghij', Accept: '*/*' },
            },
          },
        ],
      },
      { input_guardrails: [{ 'default.jsonKeys': { keys: ['token'], operator: 'all' } }] },
    ],
  });
});

test('what is shown can be sent back, as it is and in another place', (t) => {
  const faults: MaskFault[] = [];
  t.deepEqual(unmasked(masked(config), config, faults), config);
  const { targets } = masked(config) as { targets: JsonObject[] };
  const moved = unmasked({ targets: [targets[2]!, targets[0]!] } as JsonObject, config, faults);
  t.deepEqual((moved.targets as JsonObject[])[1]!.api_key, LONG);
  t.deepEqual(faults, []);
});

test('any JSON comes back from its masks', (t) => {
  const names = fc.constantFrom('api_key', 'token', 'headers', 'credentials', 'other', 'override_params');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.string(),
      fc.integer(),
      tie('object'),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
    object: fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  }));
  fc.assert(
    fc.property(fc.dictionary(names, value, { maxKeys: 4 }), (json) => {
      const faults: MaskFault[] = [];
      t.deepEqual(unmasked(masked(json as JsonObject), json as JsonObject, faults), json as JsonObject);
      return faults.length === 0;
    }),
  );
});

test('a mask that stands for nothing, or for two, is a fault at its path', (t) => {
  const faultsOf = (json: JsonObject, before: JsonObject | undefined): string[] => {
    const faults: MaskFault[] = [];
    unmasked(json, before, faults);
    return faults.map(({ path }) => path);
  };
  t.deepEqual(faultsOf({ targets: [{ api_key: '******' }] }, undefined), ['targets[0].api_key']);
  const two = { targets: [{ api_key: 'one' }, { api_key: 'two' }] };
  t.deepEqual(faultsOf({ api_key: '******' }, two), ['api_key']);
  t.deepEqual(faultsOf({ targets: [{ api_key: '******' }, { api_key: '******' }] }, two), []);
});

test('a mask stands for nothing beside an address that is new', (t) => {
  const before = { provider: 'openai', api_key: LONG, custom_host: 'https://a.example' };
  const elsewhere: JsonObject[] = [
    { custom_host: 'https://evil.example' },
    { custom_host: 'evil.example' },
    { webhookURL: 'https://evil.example' },
  ];
  for (const more of elsewhere) {
    const faults: MaskFault[] = [];
    const json = unmasked({ ...masked(before), ...more }, before, faults);
    t.deepEqual(
      faults.map(({ path }) => path),
      ['api_key'],
    );
    t.false(JSON.stringify(json).includes(LONG));
  }
  const faults: MaskFault[] = [];
  t.deepEqual(unmasked({ ...before, custom_host: 'https://new.example' }, before, faults).api_key, LONG);
  t.deepEqual(faults, []);
});
