// Handlers are made for a service when it is first called, once; an unknown path opens no router.
import { type ConnectRouter, createConnectRouter } from '@connectrpc/connect';
import test from 'ava';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { lazyHandlers } from '../../src/rpc/lazy-handlers.ts';

test('a service gets its handlers with its first call', (t) => {
  const registered: string[] = [];
  let opened = 0;
  const group = (service: typeof Health | typeof ServerReflection) => ({
    names: [service.typeName],
    register(router: ConnectRouter) {
      registered.push(service.typeName);
      router.service(service, {});
    },
  });
  const find = lazyHandlers([group(Health), group(ServerReflection)], () => {
    opened++;
    return createConnectRouter();
  });
  for (const path of ['', '/', '/healthz', '/grpc.health.v1.Nothing/Check', 'grpc.health.v1.Health'])
    t.is(find(path), undefined);
  t.is(opened, 0);
  const check = find('/grpc.health.v1.Health/Check');
  t.is(check?.requestPath, '/grpc.health.v1.Health/Check');
  t.is(find('/grpc.health.v1.Health/Check'), check);
  t.is(find('/grpc.health.v1.Health/Watch')?.method.name, 'Watch');
  t.is(find('/grpc.health.v1.Health/Other'), undefined);
  t.deepEqual(registered, [Health.typeName]);
});
