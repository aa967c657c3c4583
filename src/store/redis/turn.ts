// The commands to Redis of one turn of the event loop are one write: a write for each command would be a system call
// that costs more than the command.
import { Cluster } from 'ioredis';
import type { Client } from './connections.ts';

/**
 * Called before each command. The commands of a turn are sent together at its end, in order; on a cluster each by
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
