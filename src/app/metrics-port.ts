// The port of their own that metrics are served on.
import type http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type MetricsDeps, metricsServer } from '../edge/metrics-page.ts';

/** Where metrics are served. */
export interface MetricsPort {
  readonly address: AddressInfo;
  close(): Promise<void>;
}

/** Listens where a port is set. @throws Error naming the setting when the port cannot be had. */
export async function openMetricsPort(host: string, deps: MetricsDeps): Promise<MetricsPort | undefined> {
  const { port } = deps;
  if (port === undefined) return undefined;
  const server = metricsServer(deps);
  await listen(server, host, port);
  return {
    address: server.address() as AddressInfo,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: http.Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new Error(`GATEWAY_METRICS_PORT: cannot listen on ${host}:${port} (${error.code})`, { cause: error }),
      ),
    );
    server.listen(port, host, resolve);
  });
}
