// Responses in the background whose process is killed or stops: another one finds them, makes those again that nothing
// was answered of, and ends the others as failed. Nothing stays in progress, and each attempt is booked once.
import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { type Child, startChild, tempDir } from '../edge/child.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { limitsClient } from '../support/limits-client.ts';
import { type PatientProvider, startPatientProvider } from '../support/patient-provider.ts';
import { mongoServer, redisServer, reportMissing } from '../support/servers.ts';

type Event = OpenAI.Responses.ResponseStreamEvent;
type Stored = OpenAI.Responses.Response;

const mongo = await mongoServer();
const redis = await redisServer();

const ask = { model: 'mistral-large-latest', input: 'hi', background: true } as const;
const textOf = (events: readonly Event[]): string =>
  events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');

function clientOf({ origin }: Child, host: string, trace = ''): OpenAI {
  const config = { provider: 'mistral-ai', api_key: 'sk-of-the-provider', custom_host: `${host}/v1` };
  return new OpenAI({
    baseURL: `${origin}/v1`,
    apiKey: WORKSPACE_KEY,
    maxRetries: 0,
    defaultHeaders: {
      'x-gateway-config': JSON.stringify(config),
      ...(trace === '' ? {} : { 'x-gateway-trace-id': trace }),
    },
  });
}

async function patient(t: ExecutionContext): Promise<PatientProvider> {
  const made = await startPatientProvider();
  t.teardown(() => made.close());
  return made;
}

async function all(events: AsyncIterable<Event>, seen: Event[] = []): Promise<Event[]> {
  for await (const event of events) seen.push(event);
  return seen;
}

function inOrder(t: ExecutionContext, events: readonly Event[], from = 0): void {
  t.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, i) => from + i),
  );
}

/** When it is over. */
function ended(sdk: OpenAI, id: string): Promise<Stored> {
  return eventually(
    `the end of ${id}`,
    async () => {
      const now = await sdk.responses.retrieve(id);
      return now.status !== 'queued' && now.status !== 'in_progress' && now;
    },
    100,
  );
}

/** The entries of a trace, when there are so many. */
function booked(gateway: Child, trace: string, count: number): Promise<Record<string, unknown>[]> {
  const client = limitsClient(gateway, { origin: '' } as never);
  return eventually(
    `the entries of ${trace}`,
    async () => {
      const entries = (await client.admin('GET', `/logs?trace_id=${trace}`)).data as Record<
        string,
        unknown
      >[];
      return entries.length >= count && entries;
    },
    100,
  );
}

async function gone({ process: child, exited }: Child, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal);
  await exited;
}

/** The attempt that was cut off and the one that answered, each once. */
async function bookedTwice(t: ExecutionContext, gateway: Child, trace: string, first: string): Promise<void> {
  const entries = await booked(gateway, trace, 2);
  t.is(entries.length, 2, JSON.stringify(entries));
  t.deepEqual(entries.map((entry) => String(entry.outcome)).sort(), [first, 'success'].sort());
  const done = entries.find(({ outcome }) => outcome === 'success')!;
  t.is(Number((done.usage as Record<string, unknown>).total_tokens), 18);
  t.true(Number(done.cost) > 0);
}

test('one process: what a kill or a stop cut off is made again after the start, or has failed', async (t) => {
  t.timeout(600_000);
  const own = await patient(t);
  const env = {
    GATEWAY_DATA_DIR: tempDir(t),
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_API_KEY: WORKSPACE_KEY,
    GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    GATEWAY_DRAIN_SECONDS: '1',
  };
  const first = await startChild(t, env);
  const begun = clientOf(first, own.origin);
  const told = await begun.responses.create(ask);
  await eventually('the call', () => own.open.length === 1);
  own.say('one ');
  await eventually(
    'that it is made',
    async () => (await begun.responses.retrieve(told.id)).status === 'in_progress',
  );
  const [killed, stopped] = ['killed', 'stopped'].map((name) => `${name}-${randomUUID()}`);
  const items = [{ role: 'user', content: 'three words' }] as const;
  const silent = await clientOf(first, own.origin, killed).responses.create({
    ...ask,
    input: [...items],
    instructions: 'be short',
    metadata: { a: 'b' },
  });
  await eventually('the other call', () => own.open.length === 2);
  await gone(first, 'SIGKILL');
  await eventually('that both calls are cut off', () => own.open.length === 0);

  const second = await startChild(t, env);
  const sdk = clientOf(second, own.origin);
  const failed = await ended(sdk, told.id);
  t.is(failed.status, 'failed');
  t.regex(failed.error?.message ?? '', /a part of it was answered/);
  await eventually('that it is made again', () => own.open.length === 1);
  t.is(own.asked.length, 3);
  t.deepEqual({ ...own.asked[2] }, { ...own.asked[1] });
  own.say('now');
  own.end();
  const done = await ended(sdk, silent.id);
  t.is(done.status, 'completed');
  t.is(done.output_text, 'now');
  t.is(done.created_at, silent.created_at);
  t.deepEqual(done.metadata, { a: 'b' });
  const events = await all(await sdk.responses.retrieve(silent.id, { stream: true }));
  inOrder(t, events);
  t.is(textOf(events), 'now');
  t.is(events.filter(({ type }) => type === 'response.created').length, 1);
  await bookedTwice(t, second, killed!, 'interrupted');

  // Stopped in order.
  const left = await clientOf(second, own.origin, stopped).responses.create(ask);
  await eventually('its call', () => own.open.length === 1);
  await gone(second, 'SIGTERM');
  const third = await startChild(t, env);
  await eventually('that it is made again', () => own.open.length === 1);
  own.say('later');
  own.end();
  const last = await ended(clientOf(third, own.origin), left.id);
  t.is(last.output_text, 'later');
  const entries = await booked(third, stopped!, 2);
  t.is(entries.length, 2, JSON.stringify(entries));
  t.is(own.asked.length, 5);
  await gone(third, 'SIGTERM');
});

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  test('two processes: one goes on with what the other left when it was killed', async (t) => {
    t.timeout(600_000);
    const own = await patient(t);
    const uri = new URL(mongo.uri);
    uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const env = {
      MONGODB_URI: uri.href,
      REDIS_URL: redis.url,
      GATEWAY_HOLD_SECONDS: '10',
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_API_KEY: WORKSPACE_KEY,
    };
    const dies = await startChild(t, { ...env, GATEWAY_DATA_DIR: tempDir(t) });
    const lives = await startChild(t, { ...env, GATEWAY_DATA_DIR: tempDir(t) });
    const trace = `killed-${randomUUID()}`;
    const [at, other] = [clientOf(dies, own.origin), clientOf(lives, own.origin)];
    const told = await at.responses.create(ask);
    await eventually('the call', () => own.open.length === 1);
    own.say('one ');
    const heard = await other.responses.retrieve(told.id, { stream: true });
    const seen: Event[] = [];
    const events = all(heard, seen);
    // What was said a moment before a process is killed may be lost with it.
    await eventually('that others read what was said', () => textOf(seen) === 'one ');
    t.is((await other.responses.retrieve(told.id)).status, 'in_progress');
    const silent = await clientOf(dies, own.origin, trace).responses.create(ask);
    await eventually('the second call', () => own.open.length === 2);
    const stopped = await at.responses.create(ask);
    await eventually('the third call', () => own.open.length === 3);
    const follows = all(await other.responses.retrieve(silent.id, { stream: true }));
    await gone(dies, 'SIGKILL');
    // Nobody makes it: whoever asks for its end gets it.
    t.is((await other.responses.cancel(stopped.id)).status, 'cancelled');

    await events;
    inOrder(t, seen);
    t.is(textOf(seen), 'one ');
    t.is(seen.at(-1)?.type, 'response.failed');
    t.is((await other.responses.retrieve(told.id)).status, 'failed');
    // More may have been told than was kept.
    const beyond = await all(await other.responses.retrieve(told.id, { stream: true, starting_after: 40 }));
    t.deepEqual(
      beyond.map(({ type, sequence_number: number }) => [type, number]),
      [['response.failed', 41]],
    );

    await eventually('that it is made again', () => own.open.length === 1);
    own.say('again');
    own.end();
    const done = await ended(other, silent.id);
    t.is(done.status, 'completed');
    t.is(done.output_text, 'again');
    const followed = await follows;
    inOrder(t, followed);
    t.is(textOf(followed), 'again');
    t.is(followed.at(-1)?.type, 'response.completed');
    t.is(own.asked.length, 4);
    await bookedTwice(t, lives, trace, 'interrupted');
    await gone(lives, 'SIGTERM');
  });
}
