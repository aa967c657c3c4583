// Change notices by Redis's publish, on a connection of their own.
import { createListeners, type Notice, type NoticeListener } from '../shared/notices.ts';
import type { Client } from './connections.ts';

const CHANNEL = 'sluice:notices';

export interface RedisNotices {
  publish(notice: Notice): Promise<unknown>;
  subscribe(listener: NoticeListener): () => void;
}

/** Subscribes whenever the connection is made; from the second time on listeners learn that they may have missed some. */
export function redisNotices(sender: Client, receiver: Client): RedisNotices {
  const listeners = createListeners();
  let before = false;
  receiver.on('ready', () => {
    receiver.subscribe(CHANNEL).then(
      () => {
        if (before) listeners.tell({ kind: 'missed' });
        before = true;
      },
      // The connection broke again; the next one subscribes.
      () => undefined,
    );
  });
  receiver.on('message', (channel: string, message: string) => {
    const notice = channel === CHANNEL ? parse(message) : undefined;
    if (notice !== undefined) listeners.tell({ kind: 'changed', notice });
  });
  return {
    publish: ({ organisationId, collection, id, version }) =>
      sender.publish(CHANNEL, JSON.stringify([organisationId, collection, id, version])),
    subscribe: listeners.add,
  };
}

/** Undefined for what another version of this program may say. */
function parse(message: string): Notice | undefined {
  try {
    const [organisationId, collection, id, version] = JSON.parse(message) as unknown[];
    if (typeof organisationId !== 'string' || typeof collection !== 'string') return undefined;
    if (typeof id !== 'string' || typeof version !== 'number') return undefined;
    return { organisationId, collection, id, version };
  } catch {
    return undefined;
  }
}
