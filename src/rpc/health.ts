// gRPC's standard health service: what /readyz says, for gRPC clients.
import type { ConnectRouter } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import { Health, HealthCheckResponse_ServingStatus as Status } from '../../gen/grpc/health/v1/health_pb.ts';

import { peer } from './connect-routes.ts';
import { Watches } from './watches.ts';

export const HEALTH_NAMES = [Health.typeName];
const WATCH_EVERY_MS = 1000;

/** @param ready Whether calls are taken; must answer within a bound. */
export function registerHealth(
  router: ConnectRouter,
  services: ReadonlySet<string>,
  ready: () => Promise<boolean>,
  watches = new Watches(),
): void {
  const statusOf = async (service: string): Promise<Status> => {
    if (service !== '' && !services.has(service)) return Status.SERVICE_UNKNOWN;
    return (await ready()) ? Status.SERVING : Status.NOT_SERVING;
  };
  router.service(Health, {
    async check(request) {
      const status = await statusOf(request.service);
      if (status === Status.SERVICE_UNKNOWN) throw new ConnectError('unknown service', Code.NotFound);
      return { status };
    },
    async *watch(request, context) {
      const { connection, remote } = context.values.get(peer);
      const over = watches.open(connection, remote);
      if (over === undefined)
        throw new ConnectError('too many health watches are open: end one first', Code.ResourceExhausted);
      try {
        let last: Status | undefined;
        while (!context.signal.aborted) {
          const status = await statusOf(request.service);
          if (status !== last) yield { status };
          last = status;
          await pause(WATCH_EVERY_MS, context.signal);
        }
      } finally {
        over();
      }
    },
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
