// Recorded wires through the front door: each golden fixture of every dialect is served by a provider on a socket, cut at
// odd places, and what callers get over REST and gRPC is what the translation says.
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import test from 'ava';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { providerById } from '../../src/providers/catalog/registry.ts';
import { framed } from '../providers/support/aws-frames.ts';
import { pieces, seeded } from '../providers/support/random.ts';
import { type Bench, exchange, type Json, type JsonObject, PROVIDER_KEY, startBench } from './runner.ts';

// Oracle's requests are signed, and bring no key.
const RSA_KEY = (
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  }) as string
).replaceAll('\n', '\\n');

const ROOT = path.join(import.meta.dirname, '../providers/golden');

interface Fixture {
  readonly name: string;
  readonly provider: string;
  readonly strict: boolean;
  readonly options: Readonly<Record<string, string>>;
  readonly request: JsonObject;
  readonly stream: Buffer | undefined;
  readonly whole: Buffer | undefined;
  readonly expected: JsonObject;
}

const fixtures = readdirSync(ROOT).flatMap((folder) =>
  readdirSync(path.join(ROOT, folder)).flatMap((name) => fixturesIn(folder, name)),
);

let bench: Bench;
let replay: http.Server;
/** Requests of the gateway, by the path prefix of the call. */
const seen = new Map<string, { readonly url: string; readonly headers: http.IncomingHttpHeaders }>();
test.before(async () => {
  bench = await startBench();
  replay = http.createServer((req, res) => {
    const [, index = ''] = /^\/fixture-(\d+)\//.exec(req.url ?? '') ?? [];
    const fixture = fixtures[Number(index)];
    seen.set(index, { url: req.url ?? '', headers: req.headers });
    req.resume().on('end', () => void answer(res, fixture));
  });
  await new Promise<void>((resolve) => replay.listen(0, '127.0.0.1', resolve));
});
test.after.always(async () => {
  await bench?.close();
  replay?.close();
});

for (const [index, fixture] of fixtures.entries())
  for (const protocol of protocolsOf(fixture))
    test(`${fixture.name} [${protocol}]`, async (t) => {
      const { port } = replay.address() as AddressInfo;
      const { status, json, events, complete, error } = await exchange(
        bench,
        {
          method: ChatService.method.createChatCompletion,
          body: bodyOf(fixture),
          headers: {
            ...optionHeaders(fixture.options),
            ...(fixture.provider === 'oracle' ? { 'x-gateway-oracle-private-key': RSA_KEY } : {}),
            'x-gateway-provider': fixture.provider,
            'x-gateway-custom-host': `http://127.0.0.1:${port}/fixture-${index}`,
            'x-gateway-strict-open-ai-compliance': String(fixture.strict),
            authorization: `Bearer ${PROVIDER_KEY}`,
          },
        },
        protocol,
      );
      t.is(error, undefined);
      t.is(status, protocol === 'rest' ? 200 : 0);
      const told = seen.get(String(index));
      t.true(
        JSON.stringify(told?.headers).includes(fixture.provider === 'oracle' ? 'rsa-sha256' : PROVIDER_KEY),
        'the credential is in the provider’s header',
      );
      t.is(told?.headers['x-gateway-api-key'], undefined);
      if (fixture.stream === undefined) {
        t.deepEqual(timeless(json), timeless(fixture.expected.answer as JsonObject));
        return;
      }
      t.true(complete);
      t.deepEqual(events.map(timeless), (fixture.expected.chunks as JsonObject[]).map(timeless));
    });

function optionHeaders(options: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [`x-gateway-${name.replaceAll('_', '-')}`, value]),
  );
}

/** The fixture's request, asked for in the form of its answer. */
function bodyOf({ request: { stream_options, ...request }, stream }: Fixture): JsonObject {
  if (stream === undefined) return { ...request, stream: false };
  return { ...request, stream: true, ...(stream_options === undefined ? {} : { stream_options }) };
}

/** OpenAI's own wire passes byte for byte over REST; over gRPC it has the messages' form, which other cases cover. */
function protocolsOf({ provider }: Fixture): readonly ('rest' | 'grpc')[] {
  const { dialect = '' } = providerById(provider) ?? {};
  return ['openai', 'foundry'].includes(dialect) ? ['rest'] : ['rest', 'grpc'];
}

/** What differs from call to call: when it was made, and ids that are made of it. */
function timeless({ created: _, id, ...rest }: JsonObject): Json {
  return JSON.parse(
    JSON.stringify({ id: String(id).replace(/^(gemini|bedrock|oracle)-.*/, '$1-'), ...rest }).replace(
      /call_(?:gemini|oracle)-[0-9a-z]+_/g,
      'call_',
    ),
  ) as Json;
}

async function answer(res: http.ServerResponse, fixture: Fixture | undefined): Promise<void> {
  const body = fixture?.stream ?? fixture?.whole;
  if (body === undefined) {
    res.writeHead(404).end();
    return;
  }
  res.writeHead(200, {
    'content-type': fixture?.stream === undefined ? 'application/json' : streamType(fixture.provider),
  });
  for (const piece of pieces(body, seeded(body.length), 40)) {
    res.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  res.end();
}

function streamType(provider: string): string {
  return provider === 'bedrock' ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
}

/** Chat cases of a folder whose answers are told whole. */
function fixturesIn(folder: string, name: string): Fixture[] {
  const read = (file: string): Buffer | undefined => {
    const full = path.join(ROOT, folder, name, file);
    return existsSync(full) ? readFileSync(full) : undefined;
  };
  const json = (file: string): JsonObject => JSON.parse(String(read(file) ?? '{}')) as JsonObject;
  const { provider = folder, strict = true, operation = 'chat', options = {} } = json('case.json');
  if (operation !== 'chat' || providerById(String(provider)) === undefined) return [];
  const common = {
    provider: String(provider),
    strict: strict === true,
    options: options as Record<string, string>,
    request: json('request.json'),
  };
  if (!Array.isArray(common.request.messages)) return [];
  const frames = read('stream.frames.json');
  const stream = read('stream.sse') ?? (frames && framed(JSON.parse(String(frames))));
  const whole = read('provider-response.json');
  const all: Fixture[] = [];
  const chunks = json('chunks.json');
  if (stream !== undefined && chunks.error === undefined && common.request.stream !== false)
    all.push({ ...common, name: `${folder}: ${name}, streamed`, stream, whole: undefined, expected: chunks });
  const response = json('response.json');
  if (whole !== undefined && response.error === undefined)
    all.push({ ...common, name: `${folder}: ${name}, whole`, stream: undefined, whole, expected: response });
  return all;
}
