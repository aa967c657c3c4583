// Connections to Redis: one server by its address, or a cluster by a comma-separated list of some of its nodes.
import { Cluster, Redis, type RedisOptions } from 'ioredis';

export type Client = Redis | Cluster;

const RETRY_FIRST_MS = 50;
const RETRY_LAST_MS = 1000;

/**
 * A client that fails at once while there is no connection instead of queueing, never sends a command twice
 * (a step that was made would be made again), and gives up a connection that stays silent.
 */
export function connect(url: string, name: string, deadlineMs: number): Client {
  const urls = url.split(',').map((one) => one.trim());
  const options: RedisOptions = {
    connectionName: name,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    connectTimeout: deadlineMs,
    // A frozen server's connection is dropped, so that calls fail at once instead of each at its deadline.
    socketTimeout: deadlineMs * 2,
    retryStrategy: retryAfter,
  };
  const client = urls.length === 1 ? new Redis(url, options) : connectCluster(urls, options, deadlineMs);
  // Every failure reaches its caller; without a listener it would also end the process.
  client.on('error', () => undefined);
  return client;
}

function connectCluster(urls: string[], options: RedisOptions, deadlineMs: number): Cluster {
  const cluster = new Cluster(urls, {
    enableOfflineQueue: false,
    clusterRetryStrategy: retryAfter,
    slotsRefreshTimeout: deadlineMs,
    // A command that is repeated after its connection closed would send a step twice.
    retryDelayOnFailover: 0,
    redisOptions: options,
  });
  // A node is else connected by its first call, and every call until then fails.
  cluster.on('+node', (node: Redis) => {
    node.connect().catch(() => undefined);
  });
  return cluster;
}

/** Rejects unless the server, or every master of the cluster, answers. */
export async function ping(client: Client): Promise<void> {
  await client.ping();
  if (client instanceof Cluster) await Promise.all(client.nodes('master').map((node) => node.ping()));
}

/** Grows to a second; half of it is random, so that instances do not come back all at once. */
function retryAfter(times: number): number {
  const ms = Math.min(RETRY_LAST_MS, RETRY_FIRST_MS * 2 ** Math.min(times, 10));
  return ms / 2 + Math.random() * (ms / 2);
}
