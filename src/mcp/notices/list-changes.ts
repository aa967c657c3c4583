// Tells open streams that a list has changed for their caller: a switch, a held description, a server that came or went.
import type { CapabilityType } from '../../access/mcp/mcp-collections.ts';
import type { McpReplica } from '../../access/mcp/mcp-replica.ts';
import type { McpServer } from '../../access/mcp/mcp-server.ts';

export const LIST_KINDS = ['tools', 'prompts', 'resources'] as const;
export type ListKind = (typeof LIST_KINDS)[number];

const TYPES: Readonly<Record<ListKind, readonly CapabilityType[]>> = {
  tools: ['tool'],
  prompts: ['prompt'],
  resources: ['resource', 'resource_template'],
};

interface Watch {
  readonly servers: () => readonly McpServer[];
  readonly tell: (kind: ListKind) => void;
  keys: Keys;
}

type Keys = Readonly<Record<ListKind, string>>;

/** Streams that are looked at in one turn of the event loop. */
const SLICE = 100;

export class ListChanges {
  readonly #replica: Pick<McpReplica, 'onChanged'>;
  readonly #watches = new Set<Watch>();
  #leave: (() => void) | undefined;
  #isLooking = false;
  #isStale = false;

  constructor(replica: Pick<McpReplica, 'onChanged'>) {
    this.#replica = replica;
  }

  /** @param servers what the caller may use now @returns what ends it */
  watch(servers: Watch['servers'], tell: Watch['tell']): () => void {
    const watch = { servers, tell, keys: keysOf(servers()) };
    this.#watches.add(watch);
    this.#leave ??= this.#replica.onChanged(({ kind }) => {
      if (kind !== 'connection') this.#plan();
    });
    return () => {
      this.#watches.delete(watch);
      if (this.#watches.size > 0) return;
      this.#leave?.();
      this.#leave = undefined;
    };
  }

  /** Changes that come together are looked at once. */
  #plan(): void {
    this.#isStale = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(() => void this.#look());
  }

  async #look(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      let count = 0;
      for (const watch of [...this.#watches]) {
        tellChanges(watch);
        if (++count % SLICE === 0) await new Promise<void>((resolve) => setImmediate(resolve));
      }
    }
    this.#isLooking = false;
  }
}

function tellChanges(watch: Watch): void {
  const before = watch.keys;
  watch.keys = keysOf(watch.servers());
  for (const kind of LIST_KINDS) if (before[kind] !== watch.keys[kind]) watch.tell(kind);
}

const known = new WeakMap<McpServer, Keys>();

function keysOf(servers: readonly McpServer[]): Keys {
  const all = servers.map((server) => [server.slug, keysOfOne(server)] as const);
  const of = (kind: ListKind): string => all.map(([slug, keys]) => `${slug} ${keys[kind]}`).join('\n');
  return { tools: of('tools'), prompts: of('prompts'), resources: of('resources') };
}

function keysOfOne(server: McpServer): Keys {
  const made = known.get(server);
  if (made !== undefined) return made;
  const of = (kind: ListKind): string => TYPES[kind].map((type) => server.listKey(type)).join(' ');
  const keys = { tools: of('tools'), prompts: of('prompts'), resources: of('resources') };
  known.set(server, keys);
  return keys;
}
