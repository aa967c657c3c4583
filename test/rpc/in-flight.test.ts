// The bound on calls in flight: a workspace that takes all it can leaves room for others and for the control plane.
import test from 'ava';
import fc from 'fast-check';
import { createInFlight } from '../../src/rpc/in-flight.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ok, send } from '../support/front-door.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { chatHeaders } from '../support/limits-client.ts';

test('a single workspace takes all places', (t) => {
  const inFlight = createInFlight(4, () => false);
  for (let i = 0; i < 4; i++) t.truthy(inFlight.enter(false, 'a'));
  t.is(inFlight.enter(false, 'a'), undefined);
  t.true(inFlight.full(false));
  t.is(inFlight.refused, 1);
});

test('of several, one that takes all it can leaves a quarter of the places to the others', (t) => {
  const inFlight = createInFlight(8, () => true);
  const own = Array.from({ length: 20 }, () => inFlight.enter(false, 'a')).filter(
    (leave) => leave !== undefined,
  );
  t.is(own.length, 6);
  t.truthy(inFlight.enter(false, 'b'));
  t.truthy(inFlight.enter(false, 'c'));
  t.is(inFlight.enter(false, 'd'), undefined, 'all places are taken');
  own[0]?.();
  own[0]?.();
  t.is(inFlight.enter(false, 'a'), undefined, 'it has more than its share');
  t.truthy(inFlight.enter(false, 'd'), 'a place was given back, once');
  t.is(inFlight.enter(false, 'd'), undefined);
});

test('the control plane has places of its own, and they are bounded', (t) => {
  const inFlight = createInFlight(10, () => false);
  for (let i = 0; i < 10; i++) inFlight.enter(false, 'a');
  t.false(inFlight.full(true));
  t.truthy(inFlight.enter(true, 'a'));
  t.truthy(inFlight.enter(true, 'a'));
  t.is(inFlight.enter(true, 'a'), undefined);
  t.true(inFlight.full(true));
});

test('without a bound everybody has room', (t) => {
  const inFlight = createInFlight(undefined, () => true);
  for (let i = 0; i < 1000; i++) t.truthy(inFlight.enter(false, 'a'));
  t.false(inFlight.full(false));
  t.true(inFlight.begin());
});

test('never more model calls than places, and a workspace below its share has room while there is some', (t) => {
  const step = fc.record({ workspace: fc.constantFrom('a', 'b', 'c', 'd'), leaves: fc.boolean() });
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 80 }), (places, steps) => {
        const inFlight = createInFlight(places, () => true);
        const running = new Map<string, (() => void)[]>();
        let all = 0;
        for (const { workspace, leaves } of steps) {
          const own = running.get(workspace) ?? [];
          running.set(workspace, own);
          if (leaves) {
            const leave = own.pop();
            if (leave) all--;
            leave?.();
            continue;
          }
          const leave = inFlight.enter(false, workspace);
          const active = new Set(
            [...running].filter(([, calls]) => calls.length > 0).map(([name]) => name),
          ).add(workspace);
          const share = Math.max(1, Math.floor(places / Math.max(2, active.size)));
          if (leave === undefined && all < places && own.length < share) return false;
          if (leave === undefined) continue;
          own.push(leave);
          all++;
          if (all > places) return false;
        }
        return true;
      }),
    ),
  );
});

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([
    startGateway({ GATEWAY_MAX_IN_FLIGHT: '5' }),
    startFakeProvider(),
  ]);
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

test('slow calls of one workspace: others are answered, and so is the control plane', async (t) => {
  await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Quiet', slug: 'quiet' } });
  const { key } = await ok(gateway, 'POST', '/api-keys/workspace/service', {
    body: { name: 'quiet', workspace_id: 'quiet', scopes: ['completions.write', 'logs.view'] },
  });
  const ends: (() => void)[] = [];
  const call = (model: string, own: string): Promise<Response> =>
    fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: chatHeaders(provider, own),
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
    });
  for (let i = 0; i < 12; i++)
    provider.next('/chat/completions', async (_, res) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      res.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}');
    });
  const hogs = Array.from({ length: 8 }, () => call('gpt-ok', WORKSPACE_KEY));
  while (provider.seen.length < 3) await new Promise(setImmediate);
  const refused = await Promise.any(
    hogs.map(async (hog) => ((await hog).status === 503 ? hog : Promise.reject())),
  );
  t.is(refused.headers.get('retry-after'), '1');
  const quiet = call('gpt-ok', String(key));
  while (provider.seen.length < 4) await new Promise(setImmediate);
  t.is((await send(gateway, 'GET', '/configs')).status, 200, 'the control plane');
  for (const end of ends) end();
  t.is((await quiet).status, 200);
  const statuses = (await Promise.all(hogs)).map(({ status }) => status);
  t.is(statuses.filter((status) => status === 200).length, 3);
  const metrics = await (await fetch(`${gateway.origin}/metrics`)).text();
  t.regex(metrics, /sluice_limit_denials_total\{limit="in_flight"\} 5/);
});
