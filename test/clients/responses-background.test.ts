// Responses in the background and their events again, with the openai npm SDK: made by the gateway for providers that
// have no such thing, read while they are made, stopped, and truthful after a kill.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { startChild, tempDir } from '../edge/child.ts';
import { eventually } from '../support/eventually.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { limitsClient } from '../support/limits-client.ts';
import { type PatientProvider, startPatientProvider } from '../support/patient-provider.ts';

type Json = Record<string, unknown>;
type Event = OpenAI.Responses.ResponseStreamEvent;

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFakeProvider(),
  ]);
});
test.after.always(async () => {
  await provider?.close();
  await gateway?.close();
});

function client(host: string, wire = 'openai-compatible', origin = gateway.origin, more: Json = {}): OpenAI {
  const config = { provider: wire, api_key: 'sk-of-the-provider', custom_host: `${host}/v1`, ...more };
  return new OpenAI({
    baseURL: `${origin}/v1`,
    apiKey: WORKSPACE_KEY,
    maxRetries: 0,
    defaultHeaders: { 'x-gateway-config': JSON.stringify(config) },
  });
}

async function patient(t: ExecutionContext): Promise<PatientProvider> {
  const made = await startPatientProvider();
  t.teardown(() => made.close());
  return made;
}

async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  const seen: Event[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

const ask = { model: 'gpt-4o', input: 'hi', background: true } as const;
const numbers = (events: readonly Event[]): number[] => events.map((event) => event.sequence_number);
const textOf = (events: readonly Event[]): string =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');

test('made in the background: answered at once, read while it is made, kept when it is over', async (t) => {
  const own = await patient(t);
  const sdk = client(own.origin);
  const queued = await sdk.responses.create({ ...ask, metadata: { a: 'b' } });
  t.is(queued.status, 'queued');
  t.true(queued.background);
  t.deepEqual(queued.metadata, { a: 'b' });
  await eventually('the call', () => own.open.length === 1);
  own.say('one ');
  await eventually(
    'that it is made',
    async () => (await sdk.responses.retrieve(queued.id)).status === 'in_progress',
  );
  await t.throwsAsync(sdk.responses.create({ ...ask, background: false, previous_response_id: queued.id }), {
    message: /not over yet/,
  });
  own.say('two');
  own.end();
  const answer = await eventually('its end', async () => {
    const now = await sdk.responses.retrieve(queued.id);
    return now.status === 'completed' && now;
  });
  t.is(answer.output_text, 'one two');
  t.is(answer.id, queued.id);
  t.true(answer.background);
  t.is(answer.usage?.total_tokens, 18);
  const again = await all(await sdk.responses.retrieve(queued.id, { stream: true }));
  t.deepEqual(
    numbers(again),
    again.map((_, i) => i),
  );
  t.is(textOf(again), 'one two');
  t.is(again.at(-1)?.type, 'response.completed');
  t.is((await sdk.responses.cancel(queued.id)).status, 'completed');
  await sdk.responses.delete(queued.id);
  await t.throwsAsync(sdk.responses.retrieve(queued.id), { message: /404/ });
});

test('its call is one of the log, with its money', async (t) => {
  const own = await patient(t);
  const sdk = client(own.origin, 'mistral-ai');
  const trace = `background-${Date.now()}`;
  const { id } = await sdk.responses.create(
    { ...ask, model: 'mistral-large-latest' },
    { headers: { 'x-gateway-trace-id': trace } },
  );
  await eventually('the call', () => own.open.length === 1);
  own.say('x');
  own.end();
  await eventually('its end', async () => (await sdk.responses.retrieve(id)).status === 'completed');
  const entries = await limitsClient(gateway, provider).logs(trace);
  t.is(entries.length, 1);
  t.is(Number((entries[0]!.usage as Json).total_tokens), 18);
  t.true(Number(entries[0]!.cost) > 0);
});

test('a client that leaves its events goes on with the rest of them', async (t) => {
  const own = await patient(t);
  const sdk = client(own.origin);
  const stream = await sdk.responses.create({ ...ask, stream: true });
  const first: Event[] = [];
  const reading = (async () => {
    for await (const event of stream) {
      first.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
  })();
  await eventually('the call', () => own.open.length === 1);
  own.say('one ');
  await reading;
  const begun = first[0];
  t.is(begun?.type, 'response.created');
  const { id } = (begun as OpenAI.Responses.ResponseCreatedEvent).response;
  const rest = all(
    await sdk.responses.retrieve(id, { stream: true, starting_after: first.at(-1)!.sequence_number }),
  );
  own.say('two ');
  own.say('three');
  own.end();
  const events = [...first, ...(await rest)];
  t.deepEqual(
    numbers(events),
    events.map((_, i) => i),
  );
  t.is(textOf(events), 'one two three', JSON.stringify(events.slice(-2)));
  t.is((events.at(-1) as OpenAI.Responses.ResponseCompletedEvent).response.output_text ?? '', '');
  t.deepEqual(
    numbers(await all(await sdk.responses.retrieve(id, { stream: true, starting_after: 3 }))),
    numbers(events).slice(4),
  );
  t.deepEqual(await all(await sdk.responses.retrieve(id, { stream: true, starting_after: 1000 })), []);
});

test('the next turn goes on from one whose end has just been told', async (t) => {
  const own = await patient(t);
  const sdk = client(own.origin);
  for (let turn = 1; turn <= 5; turn++) {
    const stream = await sdk.responses.create({ ...ask, stream: true });
    await eventually('the call', () => own.open.length === 1);
    own.say('one');
    own.end();
    let ended: OpenAI.Responses.Response | undefined;
    for await (const event of stream) {
      if (event.type !== 'response.completed') continue;
      ended = event.response;
      break;
    }
    const next = await sdk.responses.create({ ...ask, previous_response_id: ended!.id });
    t.is(next.previous_response_id, ended!.id);
    await eventually('its call', () => own.open.length === 1);
    own.say('two');
    own.end();
    await eventually('its end', async () => (await sdk.responses.retrieve(next.id)).status === 'completed');
  }
});

test('one that is stopped ends at its provider, once', async (t) => {
  const own = await patient(t);
  const sdk = client(own.origin);
  const { id } = await sdk.responses.create(ask);
  await eventually('the call', () => own.open.length === 1);
  own.say('one ');
  const events = all(await sdk.responses.retrieve(id, { stream: true }));
  t.is((await sdk.responses.cancel(id)).status, 'cancelled');
  await eventually('that the provider is left', () => own.open.length === 0);
  t.is((await sdk.responses.cancel(id)).status, 'cancelled');
  t.is((await sdk.responses.retrieve(id)).status, 'cancelled');
  const seen = await events;
  t.is(String(seen.at(-1)?.type), 'response.cancelled');
  t.deepEqual(
    numbers(seen),
    seen.map((_, i) => i),
  );
});

test('what goes wrong is told by the response', async (t) => {
  const sdk = client(provider.origin);
  const { id } = await sdk.responses.create({ ...ask, model: 'status-503' });
  const failed = await eventually('its end', async () => {
    const now = await sdk.responses.retrieve(id);
    return now.status === 'failed' && now;
  });
  t.truthy(failed.error?.code);
  t.regex(failed.error?.message ?? '', /503/);
  const events = await all(await sdk.responses.retrieve(id, { stream: true }));
  t.deepEqual(
    events.map(({ type }) => type),
    ['response.created', 'response.failed'],
  );
  await t.throwsAsync(sdk.responses.create({ ...ask, store: false }), { message: /400.*background/ });
});

test('several targets, one of which has no responses: the gateway makes it', async (t) => {
  const sdk = client(provider.origin, 'openai-compatible', gateway.origin, {
    provider: undefined,
    api_key: undefined,
    custom_host: undefined,
    strategy: { mode: 'fallback' },
    targets: ['openai', 'anthropic'].map((wire, i) => ({
      provider: wire,
      api_key: 'sk-of-the-provider',
      custom_host: `${provider.origin}/v1`,
      override_params: { model: i === 0 ? 'status-503' : 'claude-ok' },
    })),
  });
  const { id } = await sdk.responses.create(ask);
  const done = await eventually('its end', async () => {
    const now = await sdk.responses.retrieve(id);
    return now.status !== 'queued' && now.status !== 'in_progress' && now;
  });
  t.is(done.status, 'completed');
  const next = await sdk.responses.create({ model: 'gpt-4o', input: 'more', previous_response_id: id });
  t.is(next.previous_response_id, id);
});

for (const wire of ['openai-compatible', 'anthropic', 'openai'] as const) {
  test(`${wire}: the events of a streamed response are the same when they are asked for again`, async (t) => {
    const sdk = client(provider.origin, wire);
    const events = await all(await sdk.responses.create({ model: 'gpt-ok', input: 'hi', stream: true }));
    const { id } = (events[0] as OpenAI.Responses.ResponseCreatedEvent).response;
    t.deepEqual(await all(await sdk.responses.retrieve(id, { stream: true })), events);
    const rest = await sdk.responses.retrieve(id, { stream: true, starting_after: 4 });
    t.deepEqual(await all(rest), events.slice(5));
  });

  test(`${wire}: a whole response has events, too`, async (t) => {
    const sdk = client(provider.origin, wire);
    const { id, output_text: text } = await sdk.responses.create({ model: 'gpt-ok', input: 'hi' });
    const events = await all(await sdk.responses.retrieve(id, { stream: true }));
    t.deepEqual(
      numbers(events),
      events.map((_, i) => i),
    );
    t.is(textOf(events), text);
    t.is(events.at(-1)?.type, 'response.completed');
  });
}

test('a number that is none, and a response of nobody, are refused', async (t) => {
  const get = (query: string) =>
    fetch(`${gateway.origin}/v1/responses/resp_none?stream=true${query}`, {
      headers: { authorization: `Bearer ${WORKSPACE_KEY}` },
    });
  for (const bad of ['-1', 'x', '1.5', '']) {
    const refused = await get(`&starting_after=${bad}`);
    t.is(refused.status, 400, bad);
    t.is(((await refused.json()) as { error: Json }).error.param, 'starting_after');
  }
  t.is((await get('')).status, 404);
});

/** Parts of the events of responses that are kept in a data folder. */
function keptParts(folder: string): number {
  const database = new DatabaseSync(join(folder, 'sluice.db'), { readOnly: true, timeout: 5000 });
  try {
    const sql = "SELECT count(*) AS parts FROM kept WHERE key GLOB 'response-part/*/events/*'";
    return Number(database.prepare(sql).get()?.parts);
  } finally {
    database.close();
  }
}

test('after a kill it has failed, and says so with the events that it had', async (t) => {
  t.timeout(300_000);
  const own = await patient(t);
  const env = {
    GATEWAY_DATA_DIR: tempDir(t),
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_API_KEY: WORKSPACE_KEY,
    GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  const before = await startChild(t, env);
  const { id } = await client(own.origin, 'openai-compatible', before.origin).responses.create(ask);
  await eventually('the call', () => own.open.length === 1);
  own.say('one ');
  const told = await client(own.origin, 'openai-compatible', before.origin).responses.retrieve(id, {
    stream: true,
  });
  for await (const { type } of told) if (type === 'response.output_text.delta') break;
  // Parts are kept in order, each with all that was told since the one before: a further one has or follows the text.
  const parts = keptParts(env.GATEWAY_DATA_DIR);
  own.say('two ');
  await eventually('what was told is kept', () => keptParts(env.GATEWAY_DATA_DIR) > parts);
  before.process.kill('SIGKILL');
  await before.exited;
  const after = await startChild(t, env);
  const sdk = client(own.origin, 'openai-compatible', after.origin);
  // It is as it was until the start has come to it.
  const failed = await eventually('its end', async () => {
    const now = await sdk.responses.retrieve(id);
    return now.status !== 'queued' && now.status !== 'in_progress' && now;
  });
  t.is(failed.status, 'failed');
  t.is(String(failed.error?.code), 'server_error');
  t.regex(failed.error?.message ?? '', /gateway stopped/);
  const events = await all(await sdk.responses.retrieve(id, { stream: true }));
  t.true(['one ', 'one two '].includes(textOf(events)), textOf(events));
  t.is(events.at(-1)?.type, 'response.failed');
  t.deepEqual(
    numbers(events),
    events.map((_, i) => i),
  );
  t.is((await sdk.responses.cancel(id)).status, 'failed');
  after.process.kill('SIGTERM');
  await after.exited;
});
