// Ends of connections through the front door: clients that leave, and a gateway that is stopped.
import test, { type ExecutionContext } from 'ava';
import { type Bench, type JsonObject, raw, startBench } from '../contract/runner.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { pause, until } from './child.ts';
import { post, Wire } from './wire.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench({ GATEWAY_DRAIN_SECONDS: '5' });
});
test.after.always(() => bench?.close());

const chat = (model: string): object => ({ model, messages: [{ role: 'user', content: 'x' }] });

function open(t: ExecutionContext, port: number): Wire {
  const wire = new Wire(port);
  t.teardown(() => void wire.socket.destroy());
  return wire;
}

async function entryOf(trace: string): Promise<JsonObject> {
  let data: JsonObject[] = [];
  await until(async () => {
    const answer = await raw(bench.gateway.origin, {
      path: `/v1/logs?trace_id=${trace}`,
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    });
    data = answer.json.data as JsonObject[];
    return data.length > 0;
  });
  return data.length === 1 ? data[0]! : { entries: data.length };
}

const told = ({ status_code, outcome, error, attempts }: JsonObject): JsonObject => ({
  status_code: status_code!,
  outcome: outcome!,
  error: error!,
  attempt: (attempts as JsonObject[])[0]!.outcome!,
});

let count = 0;
for (const [how, leave] of [
  ['at once', (wire: Wire) => wire.socket.destroy()],
  ['with a reset', (wire: Wire) => wire.socket.resetAndDestroy()],
] as const)
  for (const behind of ['nothing', 'the next request', 'one in pieces'] as const)
    test.serial(
      `a client leaves ${how}, with ${behind} behind its request: the call is cancelled`,
      async (t) => {
        const trace = `leave-${++count}`;
        const prefix = bench.mark();
        const headers = { ...bench.headers(prefix), 'x-gateway-trace-id': trace };
        const before = bench.provider.aborted;
        const wire = open(t, bench.gateway.port).write(post(headers, chat('hang')));
        await until(() => bench.sentTo(prefix).length === 1);
        const next = post({ ...headers, 'x-gateway-trace-id': 'never' }, chat('never'));
        if (behind === 'the next request') wire.write(next);
        if (behind === 'one in pieces')
          for (const piece of [next.subarray(0, 9), next.subarray(9, 50), next.subarray(50, 90)]) {
            wire.write(piece);
            await pause(10);
          }
        await pause(20);
        leave(wire);
        await until(() => bench.provider.aborted > before);
        t.like(told(await entryOf(trace)), { status_code: 499, outcome: 'cancelled', attempt: 'cancelled' });
      },
    );

test.serial('a provider that answers when the client has left', async (t) => {
  const prefix = bench.mark();
  const wire = open(t, bench.gateway.port).write(post(bench.headers(prefix), chat('slow-50')));
  await until(() => bench.sentTo(prefix).length === 1);
  wire.socket.destroy();
  await pause(100);
  t.deepEqual(
    bench.gateway.logLines.filter((line) => /"level":(?:50|60|"error"|"fatal")/.test(line)),
    [],
  );
});

test.serial(
  'a gateway that is stopped: what runs is answered and closed, what is idle is closed at once',
  async (t) => {
    const own = await startBench({ GATEWAY_DRAIN_SECONDS: '5' });
    t.teardown(() => own.provider.close());
    const { port } = own.gateway;
    const idle = open(t, port).write(post(own.headers('/first'), chat('gpt-ok')));
    t.is((await idle.answer()).headers.connection, 'keep-alive');
    const busy = open(t, port).write(post(own.headers('/busy'), chat('slow-400')));
    const eager = open(t, port).write(post(own.headers('/eager'), chat('slow-400')));
    await until(() => own.sentTo('/busy').length + own.sentTo('/eager').length === 2);
    eager.write(post(own.headers('/eager'), chat('gpt-ok')));
    await pause(20);
    const start = Date.now();
    const stopped = own.gateway.close();
    t.is(await idle.ended(), '');
    t.true(Date.now() - start < 300);
    for (const wire of [busy, eager]) {
      const answer = await wire.answer();
      t.is(answer.status, 200);
      t.is(answer.headers.connection, 'close');
      t.is(answer.headers['keep-alive'], undefined);
      t.is(await wire.ended(), '');
    }
    await stopped;
  },
);

test.serial('a client that ends its side after its request gets its answer, whole or streamed', async (t) => {
  for (const [body, wanted] of [
    [chat('slow-400'), /slow-400/],
    [{ ...chat('gpt-ok'), stream: true }, /\[DONE\]/],
  ] as const) {
    const wire = open(t, bench.gateway.port).write(post(bench.headers(bench.mark()), body));
    wire.socket.end();
    const { status, body: text } = await wire.answer();
    t.is(status, 200);
    t.regex(text, wanted);
    t.is(await wire.ended(), '');
  }
});

test.serial('a client that ends its side later gets its answer, and nothing but it', async (t) => {
  for (const version of ['1.1', '1.0'])
    for (const stream of [false, true]) {
      const prefix = bench.mark();
      const text = post(bench.headers(prefix), { ...chat('slow-700'), stream }).toString('latin1');
      const wire = open(t, bench.gateway.port).write(text.replace('HTTP/1.1', `HTTP/${version}`));
      await until(() => bench.sentTo(prefix).length === 1);
      await pause(150);
      wire.socket.end();
      const whole = await wire.ended();
      t.regex(whole, /^HTTP\/1\.1 200 OK\r\n/, version);
      t.is(whole.match(/HTTP\/1/g)?.length, 1, whole);
      t.regex(whole, stream ? /\[DONE\]/ : /slow-700/);
    }
});

test.serial(
  'a client that leaves by closing is noticed before anything of its answer is there',
  async (t) => {
    for (const stream of [false, true]) {
      const trace = `closed-${stream}`;
      const prefix = bench.mark();
      const headers = { ...bench.headers(prefix), 'x-gateway-trace-id': trace };
      // The answer comes half a second later: a client that is noticed by it alone is not cancelled.
      const wire = open(t, bench.gateway.port).write(post(headers, { ...chat('slow-500'), stream }));
      await until(() => bench.sentTo(prefix).length === 1);
      wire.socket.destroy();
      t.like(told(await entryOf(trace)), { status_code: 499, outcome: 'cancelled' });
    }
  },
);

test.serial(
  'bytes behind a request are never an answer in the middle or in the place of its own',
  async (t) => {
    const junk = '\x00\x01 this is no request\r\n\r\n';
    for (const more of [{ connection: 'close' }, {}] as Record<string, string>[])
      for (const body of [chat('slow-300'), { ...chat('stall-300'), stream: true }]) {
        const prefix = bench.mark();
        const wire = open(t, bench.gateway.port).write(post({ ...bench.headers(prefix), ...more }, body));
        await until(() => bench.sentTo(prefix).length === 1);
        wire.write(junk);
        const { status, body: text } = await wire.answer();
        t.is(status, 200, text);
        t.notRegex(text, /400 Bad Request/);
        t.is(await wire.ended(), '');
      }
  },
);
