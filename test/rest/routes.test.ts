// Path templates, the route table and query parameters.
import { create, createFileRegistry, type DescService, setExtension } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  file_google_protobuf_empty,
  type MethodOptions,
  MethodOptionsSchema,
} from '@bufbuild/protobuf/wkt';
import test from 'ava';
import fc from 'fast-check';
import { ListLogsRequestSchema, LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionsService } from '../../gen/gateway/inference/v2/completions_pb.ts';
import { EmbeddingsService } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import {
  GetModelRequestSchema,
  ListModelsRequestSchema,
  ModelsService,
} from '../../gen/gateway/inference/v2/models_pb.ts';
import { ModerationsService } from '../../gen/gateway/inference/v2/moderations_pb.ts';
import { http } from '../../gen/google/api/annotations_pb.ts';
import { HttpRuleSchema } from '../../gen/google/api/http_pb.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { parsePathTemplate } from '../../src/rest/path-template.ts';
import { bindPath, readQuery } from '../../src/rest/query.ts';
import { createRouteTable, refuseUnknownFields } from '../../src/rest/routes.ts';
import { generatedFiles, servicesOf } from '../architecture/contract.ts';

const split = (path: string): string[] => path.slice(1).split('/');
const match = (template: string, path: string): object | undefined => {
  const values = parsePathTemplate(template).match(split(path));
  return values && Object.fromEntries(values);
};

test('templates match their paths only', (t) => {
  t.deepEqual(match('/logs', '/logs'), {});
  t.is(match('/logs', '/logs/1'), undefined);
  t.is(match('/logs', '/Logs'), undefined);
  t.deepEqual(match('/a/{id}', '/a/1'), { id: '1' });
  t.deepEqual(match('/a/{id}', '/a/x%2Fy'), { id: 'x%2Fy' });
  t.is(match('/a/{id}', '/a/'), undefined);
  t.is(match('/a/{id}', '/a/1/2'), undefined);
  t.deepEqual(match('/a/{id}/b', '/a/1/b'), { id: '1' });
  t.deepEqual(match('/a/{id=*}/b/{other}', '/a/1/b/2'), { id: '1', other: '2' });
  t.deepEqual(match('/models/{model=**}', '/models/a/b/c'), { model: 'a/b/c' });
  t.is(match('/models/{model=**}', '/models/'), undefined);
  t.deepEqual(match('/a-b', '/a%2Db'), {});
});

test('templates that no route uses are refused', (t) => {
  for (const text of ['logs', '/{a=**}/b', '/{A}', '/a b', '/{a', '/a//b', '/{a=b/*}', ''])
    t.throws(() => parsePathTemplate(text), { message: /path template/ }, text);
});

test('matching never throws, whatever the path', (t) => {
  const templates = ['/models/{model=**}', '/a/{id}/b', '/logs'].map(parsePathTemplate);
  fc.assert(
    fc.property(fc.string(), (path) => {
      for (const template of templates) template.match(split(path));
    }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[A-Za-z0-9%._~-]{1,8}$/), { minLength: 1, maxLength: 4 }),
      (parts) => {
        const values = templates[0]!.match(['models', ...parts]);
        t.is(values?.get('model'), parts.join('/'));
      },
    ),
  );
});

const SERVICES = [
  ChatService,
  CompletionsService,
  EmbeddingsService,
  ModerationsService,
  ModelsService,
  LogsService,
];

test('the contract’s own table', (t) => {
  const table = createRouteTable(SERVICES);
  const said = table.routes.map(({ verb, template, method }) => `${verb} ${template.text} ${method.name}`);
  for (const line of [
    'POST /chat/completions CreateChatCompletion',
    'POST /completions CreateCompletion',
    'POST /embeddings CreateEmbeddings',
    'POST /moderations CreateModeration',
    'GET /models ListModels',
    'GET /models/{model=**} GetModel',
    'GET /logs ListLogs',
  ])
    t.true(said.includes(line), line);
  t.is(table.match('POST', '/chat/completions')?.route.streamMethod?.name, 'StreamChatCompletion');
  t.is(table.match('GET', '/models')?.route.method.name, 'ListModels');
  t.is(table.match('GET', '/models/')?.route.method.name, 'ListModels');
  t.is(table.match('GET', '/models/a/b')?.values.get('model'), 'a/b');
  t.is(table.match('GET', '/chat/completions'), undefined);
  t.is(table.match('POST', '/nothing'), undefined);
  t.deepEqual(table.declared('/logs'), { verbs: ['GET', 'POST'], control: true });
  t.deepEqual(table.declared('/chat/completions'), { verbs: ['POST'], control: false });
  t.deepEqual(table.declared('/nothing'), { verbs: [], control: false });
});

test('the table never throws, whatever the path', (t) => {
  const table = createRouteTable(SERVICES);
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('GET', 'POST', 'PUT', 'X'), (path, verb) => {
        table.match(verb, path);
        table.match(verb, `/models/${path}`);
        table.declared(path);
      }),
    ),
  );
});

/** A service whose methods have the given rules, made at run time. */
function serviceOf(
  ...rules: readonly { get?: string; post?: string; body?: string; more?: string }[]
): DescService {
  const file = create(FileDescriptorProtoSchema, {
    name: `made/${rules.map((rule) => rule.get ?? rule.post).join('-')}.proto`,
    package: 'made',
    syntax: 'proto3',
    dependency: ['google/protobuf/empty.proto'],
    messageType: [
      {
        name: 'In',
        field: ['id', 'b'].map((field, i) => ({
          name: field,
          number: i + 1,
          type: FieldDescriptorProto_Type.STRING,
          label: FieldDescriptorProto_Label.OPTIONAL,
        })),
      },
    ],
    service: [
      {
        name: 'S',
        method: rules.map((rule, i) => {
          const options: MethodOptions = create(MethodOptionsSchema);
          const pattern = rule.get
            ? { case: 'get' as const, value: rule.get }
            : { case: 'post' as const, value: rule.post! };
          setExtension(
            options,
            http,
            create(HttpRuleSchema, {
              pattern,
              body: rule.body ?? '',
              additionalBindings: rule.more ? [{ pattern: { case: 'get', value: rule.more } }] : [],
            }),
          );
          return {
            name: `M${i}`,
            inputType: '.made.In',
            outputType: '.google.protobuf.Empty',
            options,
          };
        }),
      },
    ],
  });
  const registry = createFileRegistry(file, (name) =>
    name === 'google/protobuf/empty.proto' ? file_google_protobuf_empty : undefined,
  );
  return registry.getService('made.S')!;
}

test('two operations may not claim one verb and path', (t) => {
  t.throws(() => createRouteTable([serviceOf({ get: '/a' }, { get: '/a' })]), {
    message: /GET \/a is claimed by both M0 and M1/,
  });
  t.throws(() => createRouteTable([serviceOf({ get: '/b' }, { get: '/c', more: '/b' })]), {
    message: /claimed/,
  });
  t.notThrows(() => createRouteTable([serviceOf({ get: '/a' }, { post: '/a', body: '*' })]));
});

test('the most specific template wins, in whatever order services are given and however a path is spelled', (t) => {
  const rules = [
    { get: '/a/{id=**}' },
    { get: '/a/{id}' },
    { get: '/a/{id}/b' },
    { get: '/a/{id}/{b}' },
    { get: '/a/c' },
    { get: '/a/c/{b}' },
    { get: '/a/c/d' },
  ];
  const expected: [string, string][] = [
    ['/a/x', '/a/{id}'],
    ['/a/c', '/a/c'],
    ['/a/x/b', '/a/{id}/b'],
    ['/a/x/y', '/a/{id}/{b}'],
    ['/a/c/b', '/a/c/{b}'],
    ['/a/c/d', '/a/c/d'],
    ['/a/x/y/z', '/a/{id=**}'],
  ];
  for (const order of [rules, rules.toReversed()]) {
    const table = createRouteTable([serviceOf(...order)]);
    for (const [path, template] of expected) {
      const escaped = path.replace(/.$/, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
      for (const spelled of [path, `${path}/`, escaped, `${escaped}/`])
        t.is(table.match('GET', spelled)?.route.template.text, template, spelled);
    }
  }
});

test('every operation of the contract is found by its path, with a slash at the end and with escapes', async (t) => {
  const services = servicesOf(await generatedFiles());
  for (const order of [services, services.toReversed()]) {
    const table = createRouteTable(order);
    for (const { verb, template, method } of table.routes) {
      const path = template.text.replace(/\{[^}]+\}/g, 'x1');
      const escaped = `${path.slice(0, 1)}%${path.charCodeAt(1).toString(16)}${path.slice(2)}`;
      for (const spelled of [path, `${path}/`, escaped, `${escaped}/`])
        t.is(table.match(verb, spelled)?.route.method.name, method.name, `${verb} ${spelled}`);
    }
  }
  const table = createRouteTable(services);
  t.is(table.match('POST', '/api-keys/x/rotate/')?.route.method.name, 'RotateApiKey');
});

test('rules that cannot be served are refused', (t) => {
  t.throws(() => refuseUnknownFields(createRouteTable([serviceOf({ get: '/a/{other}' })])), {
    message: /no field other/,
  });
  t.throws(() => createRouteTable([serviceOf({ post: '/a', body: 'part' })]), { message: /body must be/ });
});

test('queries are read by the fields’ types', (t) => {
  t.deepEqual(readQuery(ListLogsRequestSchema, 'page_size=7&status_code=200,404&order=asc'), {
    page_size: 7,
    status_code: '200,404',
    order: 'asc',
  });
  t.deepEqual(readQuery(ListLogsRequestSchema, 'pageSize=7&currentPage=0'), {
    page_size: 7,
    current_page: 0,
  });
  t.deepEqual(readQuery(ListLogsRequestSchema, ''), {});
  t.deepEqual(readQuery(ListLogsRequestSchema, 'trace_id=a%2Cb%20c&page_size=x'), {
    trace_id: 'a,b c',
    page_size: 'x',
  });
  t.deepEqual(readQuery(ListModelsRequestSchema, 'limit=1e3'), { limit: '1e3' });
  for (const [query, field, rule] of [
    ['colour=1', 'colour', 'unknown'],
    ['__proto__=1', '__proto__', 'unknown'],
    ['page_size=1&page_size=2', 'page_size', 'repeated'],
    ['page_size=1&pageSize=2', 'pageSize', 'repeated'],
    ['$typeName=x', '$typeName', 'unknown'],
  ] as const) {
    const error = t.throws(() => readQuery(ListLogsRequestSchema, query), { instanceOf: GatewayError });
    t.like(error?.details.violations?.[0], { field, rule }, query);
  }
});

test('reading a query throws nothing but GatewayErrors', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webQueryParameters()), (query) => {
        try {
          readQuery(ListLogsRequestSchema, query);
        } catch (error) {
          if (!(error instanceof GatewayError) || error.status !== 400) throw error;
        }
      }),
    ),
  );
});

test('the path’s fields win over the query’s, decoded once', (t) => {
  t.deepEqual(bindPath(GetModelRequestSchema, {}, new Map([['model', 'a%2Fb%2525']])), { model: 'a/b%25' });
  t.throws(() => bindPath(GetModelRequestSchema, {}, new Map([['model', '%zz']])), {
    instanceOf: GatewayError,
    message: /percent-encoding/,
  });
});
