// Health watches need no key and do not end: they are bounded.
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import test from 'ava';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import { Watches } from '../../src/rpc/watches.ts';
import { startGateway } from '../support/gateway.ts';

test('watches are bounded by connection, by address and in all, and count until they end', (t) => {
  const watches = new Watches({ perConnection: 2, perAddress: 3, total: 4 });
  const [one, two, three] = [{}, {}, {}];
  const first = watches.open(one, 'a');
  t.truthy(first);
  t.truthy(watches.open(one, 'a'));
  t.is(watches.open(one, 'a'), undefined, 'of the connection');
  t.truthy(watches.open(two, 'a'));
  t.is(watches.open(two, 'a'), undefined, 'of the address');
  t.truthy(watches.open(three, 'b'));
  t.is(watches.open(three, 'b'), undefined, 'in all');
  first?.();
  t.truthy(watches.open(three, 'b'));
});

test('over gRPC the fifth watch of a connection is refused, and one that ended makes room', async (t) => {
  const gateway = await startGateway();
  t.teardown(() => gateway.close());
  const client = createClient(Health, createGrpcTransport({ baseUrl: gateway.origin }));
  const leave = new AbortController();
  /** Whether it tells a state: on a busy machine the gateway may not be ready, which is one too. */
  const watch = async (signal?: AbortSignal): Promise<boolean> => {
    const stream = client.watch({}, signal === undefined ? {} : { signal })[Symbol.asyncIterator]();
    return ((await stream.next()).value?.status ?? 0) > 0;
  };
  t.true(await watch(leave.signal));
  for (let i = 0; i < 3; i++) t.true(await watch());
  const refused = await t.throwsAsync(watch(), { instanceOf: ConnectError });
  t.is(refused?.code, Code.ResourceExhausted);
  t.true((await client.check({})).status > 0, 'a check is answered all the same');
  leave.abort();
  for (;;) {
    const again = await watch().catch((thrown: unknown) => ConnectError.from(thrown).code);
    if (again === true) break;
    t.is(again, Code.ResourceExhausted);
  }
});
