// Examples of the document: there is one on every body and every answer, and each is valid by its schema; those of requests
// are also read by the codec and pass the contract's rules.
import { readFile } from 'node:fs/promises';
import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { openPath } from '../../src/openapi/paths.ts';
import { codec } from '../../src/rest/codec.ts';
import { formOf } from '../../src/rest/form-shape.ts';
import { createRouteTable, type Route } from '../../src/rest/routes.ts';
import { contractValidator } from '../../src/rpc/validator.ts';
import { generatedFiles, servicesOf } from '../architecture/contract.ts';

type Json = Record<string, unknown>;
interface Media {
  readonly schema: Json;
  readonly example?: unknown;
}
type Content = Readonly<Record<string, Media>>;
interface Operation {
  readonly tags: readonly string[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

const document = JSON.parse(
  await readFile(new URL('../../gen/openapi.json', import.meta.url), 'utf8'),
) as Json & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly tags: readonly { readonly name: string }[];
};
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([verb, operation]) => ({ name: `${verb} ${path}`, operation })),
);
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'document', ...document });

/** The fault of an example; undefined when it is valid. */
function faultOf({ schema, example }: Media): string | undefined {
  if (example === undefined) return 'there is none';
  const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
  return ajv.validate(JSON.parse(text) as Json, example) ? undefined : ajv.errorsText();
}

test('every body and every successful answer has an example that its schema takes', (t) => {
  t.true(operations.length > 150);
  for (const { name, operation } of operations) {
    if ('101' in operation.responses) continue;
    const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
    t.is(answers.length, 1, name);
    const contents = [operation.requestBody?.content, answers[0]![1].content].flatMap((content) =>
      Object.entries(content ?? {}),
    );
    t.true(contents.length > 0, name);
    for (const [type, media] of contents) t.is(faultOf(media), undefined, `${name} ${type}`);
  }
});

test('examples of requests are messages of the contract and keep its rules', async (t) => {
  const validator = contractValidator();
  const { routes } = createRouteTable(servicesOf(await generatedFiles()));
  for (const route of routes.filter(({ hasBody }) => hasBody)) {
    const name = `${route.verb.toLowerCase()} ${openPath(route)}`;
    const { operation } = operations.find((one) => one.name === name)!;
    const form = formOf(route.method);
    const type = form === undefined ? 'application/json' : 'multipart/form-data';
    const body = operation.requestBody!.content[type]!.example as Json;
    const desc = form?.head ?? route.method.input;
    const message = codec.decode(desc, { ...body, ...pathOf(route) });
    const { kind, ...result } = validator.validate(desc, message);
    t.is(
      kind,
      'valid',
      `${name}: ${JSON.stringify('violations' in result ? result.violations?.map(String) : '')}`,
    );
  }
});

/** Values for the fields of a path. */
function pathOf({ template }: Route): Json {
  const words: Readonly<Record<string, string>> = {
    type: 'workspace',
    sub_type: 'service',
    kind: 'input-guardrails',
  };
  return Object.fromEntries(
    template.fields.map((field) => [field, words[field] ?? '3c90c3cc-0d44-4b50-8888-8dd25736052a']),
  );
}

test('tags are in the order of use: model calls first, administration last', (t) => {
  const names = document.tags.map(({ name }) => name);
  t.is(names[0], 'Chat');
  t.true(names.indexOf('Embeddings') < names.indexOf('Integrations'));
  t.true(names.indexOf('Configs') < names.indexOf('Logs'));
  t.true(names.indexOf('Logs') < names.indexOf('Workspaces'));
  t.deepEqual(
    operations.flatMap(({ operation }) => operation.tags.filter((tag) => !names.includes(tag))),
    [],
  );
});

test('headers are plain schemas under names of their own, which every generator reads', (t) => {
  const { parameters, schemas } = document.components as {
    readonly parameters: Readonly<Record<string, Json>>;
    readonly schemas: Json;
  };
  for (const [name, parameter] of Object.entries(parameters)) {
    t.false(name in schemas, name);
    t.truthy(parameter.schema, name);
    t.is(parameter.content, undefined, name);
  }
  t.deepEqual(parameters.ForwardHeadersHeader?.schema, { type: 'string' });
});
