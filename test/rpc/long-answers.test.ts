// Long answers of gRPC, gRPC-Web and Connect are written in slices of the event loop, and read by every client as ever.
import { create, fromBinary, fromJson, type JsonObject, toJson } from '@bufbuild/protobuf';
import { createClient, type Transport } from '@connectrpc/connect';
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import test from 'ava';
import { ConfigListSchema, ConfigSchema } from '../../gen/gateway/admin/v2/configs_pb.ts';
import { ExportedStateSchema } from '../../gen/gateway/admin/v2/declared_state_pb.ts';
import { PromptPartialsService } from '../../gen/gateway/admin/v2/prompt_partials_pb.ts';
import { binaryPieces, isLongAnswer, protoJsonPieces } from '../../src/rpc/long-answers.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';

const VERSIONS = 12;
const TEXT = 'wörd '.repeat(20_000);

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
  const made = await rest('POST', '/prompts/partials', { name: 'long', string: `0 ${TEXT}` });
  for (let i = 1; i < VERSIONS; i++)
    await rest('PUT', `/prompts/partials/${made.slug}`, { string: `${i} ${TEXT}` });
});
test.after.always(() => gateway?.close());

async function rest(method: string, path: string, body: object): Promise<JsonObject> {
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method,
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as JsonObject;
}

const OPTIONS = { httpVersion: '2' } as const;
const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl, acceptCompression: [] }),
  'gRPC, gzip': (baseUrl) => createGrpcTransport({ baseUrl, acceptCompression: [compressionGzip] }),
  'gRPC, JSON': (baseUrl) => createGrpcTransport({ baseUrl, useBinaryFormat: false, acceptCompression: [] }),
  'gRPC-Web': (baseUrl) => createGrpcWebTransport({ ...OPTIONS, baseUrl, acceptCompression: [] }),
  'gRPC-Web, br': (baseUrl) =>
    createGrpcWebTransport({ ...OPTIONS, baseUrl, acceptCompression: [compressionBrotli] }),
  Connect: (baseUrl) =>
    createConnectTransport({ ...OPTIONS, baseUrl, useBinaryFormat: true, acceptCompression: [] }),
  'Connect, gzip': (baseUrl) =>
    createConnectTransport({
      ...OPTIONS,
      baseUrl,
      useBinaryFormat: true,
      acceptCompression: [compressionGzip],
    }),
  'Connect, JSON': (baseUrl) =>
    createConnectTransport({ ...OPTIONS, baseUrl, useBinaryFormat: false, acceptCompression: [] }),
  'Connect, JSON, br': (baseUrl) =>
    createConnectTransport({
      ...OPTIONS,
      baseUrl,
      useBinaryFormat: false,
      acceptCompression: [compressionBrotli],
    }),
};

for (const [name, transport] of Object.entries(transports))
  test(`a long list is read whole over ${name}`, async (t) => {
    const partials = createClient(PromptPartialsService, transport(gateway.origin));
    const headers = { 'x-gateway-api-key': ADMIN_KEY };
    const [partial] = (await partials.listPromptPartials({}, { headers })).data;
    const { data, total } = await partials.listPromptPartialVersions(
      { partialId: partial!.slug },
      { headers },
    );
    t.is(Number(total), VERSIONS);
    t.deepEqual(
      data.map(({ string }) => string.split(' ', 1)[0]).sort((a, b) => Number(a) - Number(b)),
      Array.from({ length: VERSIONS }, (_, i) => String(i)),
    );
    for (const { string } of data) t.true(string.endsWith(TEXT));
  });

/** Turns of the event loop while something goes on. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let [turns, ended] = [0, false];
  const count = (): void => {
    turns++;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  await work();
  ended = true;
  return turns;
}

const list = create(ConfigListSchema, {
  object: 'list',
  total: 3000n,
  data: Array.from({ length: 3000 }, (_, i) => ({
    id: `i${i}`,
    config: 'ü"\\'.repeat(500),
    isDefault: i % 2,
  })),
});
const state = create(ExportedStateSchema, {
  document: {
    version: 1,
    none: null,
    no: false,
    empty: {},
    configs: Array.from({ length: 4000 }, (_, i) => ({
      slug: `c${i}`,
      config: { list: [1, 'x', [], {}, null, true], text: 'y'.repeat(100) },
    })),
    members: Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`n${i}`, `v${i}`])),
  },
});

for (const [desc, message] of [
  [ConfigListSchema, list],
  [ExportedStateSchema, state],
] as const)
  test(`${desc.typeName} is the same message when it is written in slices, over several turns`, async (t) => {
    t.true(isLongAnswer(message));
    const whole = toJson(desc, message);
    let [binary, json]: [Uint8Array[], Uint8Array[]] = [[], []];
    const turns = await turnsDuring(async () => {
      binary = await binaryPieces(desc, message);
      json = await protoJsonPieces(desc, message);
    });
    t.deepEqual(toJson(desc, fromBinary(desc, Buffer.concat(binary))), whole);
    const read = JSON.parse(Buffer.concat(json).toString());
    t.deepEqual(read, whole);
    t.deepEqual(toJson(desc, fromJson(desc, read)), whole);
    t.true(turns > 2, `${turns} turns`);
  });

test('a short answer is left to the library', (t) => {
  t.false(isLongAnswer(create(ConfigSchema, { config: 'x'.repeat(100_000) })));
});
