// gen/openapi.json: valid, complete, and equal to the specification where it speaks.
import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import test from 'ava';
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { fail, invalidField } from '../../src/lib/errors.ts';
import { openPath } from '../../src/openapi/paths.ts';
import { errorBody } from '../../src/rest/error-body.ts';
import { createRouteTable } from '../../src/rest/routes.ts';
import { generatedFiles, servicesOf } from '../architecture/contract.ts';

type Json = Record<string, unknown>;

const text = await readFile(new URL('../../gen/openapi.json', import.meta.url), 'utf8');
const document = JSON.parse(text) as Json;
const { routes } = createRouteTable(servicesOf(await generatedFiles()));

test('is valid by the meta-schema of OpenAPI 3.1', async (t) => {
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  t.true(valid, JSON.stringify(errors, undefined, 1));
  t.is(member(document, 'info', 'title'), 'Sluice');
  t.is(member(document, 'info', 'version'), '2.0.0');
  t.deepEqual(
    (document.servers as Json[]).map((server) => server.url),
    ['/v1', '/v2'],
  );
  t.true(text.endsWith('}\n'));
});

test('every route is there, with an answer, errors, and who may call it', (t) => {
  for (const route of routes) {
    const operation = member(document, 'paths', openPath(route), route.verb.toLowerCase()) as
      | Json
      | undefined;
    const name = `${route.verb} ${route.template.text}`;
    t.truthy(operation, name);
    const responses = operation?.responses as Json;
    // A WebSocket has no other success than the upgrade.
    t.truthy(responses['200'] ?? responses['101'], name);
    for (const status of ['400', '401', '403', '500']) t.truthy(responses[status], `${name}: ${status}`);
    t.truthy(operation?.summary, name);
    t.truthy(operation?.['x-sluice-access'], name);
    t.is(operation?.requestBody !== undefined, route.hasBody, name);
    const stream = member(responses, '200', 'content', 'text/event-stream');
    if (route.streamMethod !== undefined) t.truthy(stream, `${name}: streams`);
    else if (route.method.methodKind === 'unary') t.is(stream, undefined, `${name}: does not stream`);
  }
});

test('nothing is there that is no route, but pass-through', (t) => {
  const known = new Set(routes.map((route) => `${route.verb.toLowerCase()} ${openPath(route)}`));
  const listed = Object.entries(document.paths as Json).flatMap(([path, item]) =>
    Object.keys(item as Json).map((verb) => `${verb} ${path}`),
  );
  t.deepEqual(
    listed.filter((key) => !known.has(key)),
    ['get', 'post', 'put', 'delete'].map((verb) => `${verb} /proxy/{path}`),
  );
});

test('operation ids are unique', (t) => {
  const ids = [...text.matchAll(/"operationId": "([^"]+)"/g)].map((match) => match[1]);
  t.true(ids.length >= routes.length);
  t.is(new Set(ids).size, ids.length);
});

test('every reference resolves, and every component is referred to', (t) => {
  const used = new Set([...text.matchAll(/"\$ref": "#\/([^"]+)"/g)].map((match) => match[1] as string));
  for (const ref of used) t.not(member(document, ...ref.split('/')), undefined, ref);
  const components = Object.entries(document.components as Json)
    .filter(([kind]) => kind !== 'securitySchemes')
    .flatMap(([kind, members]) => Object.keys(members as Json).map((name) => `components/${kind}/${name}`));
  t.deepEqual(
    components.filter((name) => !used.has(name)),
    [],
  );
});

// The specification's table of POST /completions, part "Endpoints".
const COMPLETIONS: readonly (readonly [string, Json])[] = [
  ['model', { type: 'string' }],
  ['best_of', { type: 'integer', minimum: 0, maximum: 20 }],
  ['echo', { type: 'boolean' }],
  ['frequency_penalty', { type: 'number', minimum: -2, maximum: 2 }],
  ['logprobs', { type: 'integer', minimum: 0, maximum: 5 }],
  ['max_tokens', { type: 'integer', minimum: 0, maximum: undefined }],
  ['n', { type: 'integer', minimum: 1, maximum: 128 }],
  ['presence_penalty', { type: 'number', minimum: -2, maximum: 2 }],
  ['seed', { type: 'integer', minimum: -9223372036854776000, maximum: 9223372036854776000 }],
  ['stream', { type: 'boolean' }],
  ['suffix', { type: 'string' }],
  ['temperature', { type: 'number', minimum: 0, maximum: 2 }],
  ['top_p', { type: 'number', minimum: 0, maximum: 1 }],
  ['user', { type: 'string' }],
];

for (const [name, rule] of COMPLETIONS) {
  test(`POST /completions: ${name} is as the specification's table says`, (t) => {
    const schema = member(completionRequest(), 'properties', name) as Json;
    t.truthy(schema);
    for (const [keyword, value] of Object.entries(rule)) t.is(schema[keyword], value, keyword);
  });
}

test("POST /completions: the table's other rules", (t) => {
  const schema = completionRequest();
  const properties = schema.properties as Json;
  t.deepEqual(schema.required, ['model']);
  const logitBias = member(properties, 'logit_bias', 'additionalProperties') as Json;
  t.like(logitBias, { type: 'number', minimum: -100, maximum: 100 });
  const prompt = resolved(properties.prompt as Json).anyOf as Json[];
  t.deepEqual(
    prompt.map(({ type, items }) => [type, member(items, 'type'), member(items, 'items', 'type')]),
    [
      ['string', undefined, undefined],
      ['array', 'string', undefined],
      ['array', 'integer', undefined],
      ['array', 'array', 'integer'],
    ],
  );
  const stop = resolved(properties.stop as Json).anyOf as Json[];
  t.deepEqual(
    stop.map(({ type }) => type),
    ['string', 'array'],
  );
  t.is(stop[1]?.maxItems, 4);
  t.regex(String(schema.description), /best_of: must be greater than n/);
  t.regex(String(schema.description), /best_of: cannot be streamed/);
  t.regex(String(schema.description), /stream_options: only when stream is true/);
});

test('the four ways of selecting a provider are combinations of security schemes', (t) => {
  const security = member(document, 'paths', '/chat/completions', 'post', 'security') as Json[];
  const ways = security.map((way) => Object.keys(way).sort().join(' '));
  for (const way of [
    'GatewayKey VirtualKey',
    'GatewayKey Provider ProviderAuth',
    'Config GatewayKey',
    'CustomHost GatewayKey Provider ProviderAuth',
  ]) {
    t.true(ways.includes(way), way);
  }
});

test('model calls take the headers of the specification', (t) => {
  const parameters = member(document, 'paths', '/chat/completions', 'post', 'parameters') as Json[];
  const names = new Set(parameters.map((parameter) => resolved(parameter).name));
  for (const name of [
    'provider',
    'virtual-key',
    'config',
    'custom-host',
    'trace-id',
    'metadata',
    'cache-force-refresh',
    'cache-namespace',
    'request-timeout',
    'forward-headers',
  ]) {
    t.true(names.has(`x-gateway-${name}`), name);
  }
});

for (const [plane, component] of [
  [Plane.DATA, 'DataPlaneError'],
  [Plane.CONTROL, 'ControlPlaneError'],
] as const) {
  test(`${component} is what the edge writes`, (t) => {
    const schema = member(document, 'components', 'schemas', component) as Json;
    const bare = errorBody(fail('internal', 'failed'), { plane });
    const full = errorBody(invalidField('n', 'too large'), { plane });
    const provided = errorBody(fail('upstream_status', 'failed', { provider: 'openai' }), { plane });
    for (const body of [bare, full, provided]) assertFits(t.deepEqual, schema, body);
  });
}

function assertFits(equal: (a: unknown, b: unknown) => void, schema: Json, body: Json): void {
  const properties = schema.properties as Json;
  equal(
    Object.keys(body).filter((name) => !(name in properties)),
    [],
  );
  equal(
    (schema.required as string[]).filter((name) => !(name in body)),
    [],
  );
  for (const [name, value] of Object.entries(body)) {
    const inner = properties[name] as Json;
    if (inner.type === 'object') assertFits(equal, inner, value as Json);
    if (inner.const !== undefined) equal(value, inner.const);
  }
}

function completionRequest(): Json {
  const body = member(
    document,
    'paths',
    '/completions',
    'post',
    'requestBody',
    'content',
    'application/json',
  );
  return resolved(member(body, 'schema') as Json);
}

function resolved(schema: Json): Json {
  const ref = schema.$ref;
  return typeof ref === 'string' ? (member(document, ...ref.slice(2).split('/')) as Json) : schema;
}

function member(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (at as Json | undefined)?.[name], value);
}
