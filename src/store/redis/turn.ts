// What is sent to Redis in one turn of the event loop is one write: a write of its own for each command is a call into the
// system that costs more than the command.
import { Cluster } from 'ioredis';
import type { Client } from './connections.ts';

/**
 * To be called before each command. The commands of a turn leave together at its end, in order; on a cluster each by
 * itself.
 */
export function writesTogether(client: Client): () => void {
  if (client instanceof Cluster) return () => {};
  let corked: typeof client.stream | undefined;
  const end = (): void => {
    const stream = corked;
    corked = undefined;
    stream?.uncork();
  };
  return () => {
    if (corked !== undefined) return;
    const { stream } = client;
    // Before the first connection there is none.
    if (!stream?.writable) return;
    corked = stream;
    stream.cork();
    setImmediate(end);
  };
}
