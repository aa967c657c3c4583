// Tools whose descriptions differ from what the last sync saw, as servers list them to clients. A change counts at once in
// this process; the store is told of it, so that it is marked, and counts everywhere.
import type { JsonObject } from '../../store/collection.ts';
import { capabilityHash, isSameDescription } from './capability-hash.ts';
import type { StoredCapability } from './mcp-collections.ts';

/** A tool as a server lists it now. */
export interface SeenTool {
  readonly name: string;
  readonly described: JsonObject;
  readonly hash: string;
}

/** What a list is compared with. */
export interface Known {
  readonly stored: Pick<StoredCapability, 'hash' | 'described'> | undefined;
  /** Of a tool that the server had once: the description that was accepted. */
  readonly gone: string | undefined;
}

/** The tools of one integration that were seen otherwise. */
export class SeenTools {
  readonly #seen = new Map<string, SeenTool>();
  readonly #changed: () => void;

  /** @param changed told of every description that is new here */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Undefined: as it is stored, as far as this process knows. */
  get(name: string): SeenTool | undefined {
    return this.#seen.get(name);
  }

  get all(): readonly SeenTool[] {
    return [...this.#seen.values()];
  }

  /** Compares an item of a list with what is known of it; a tool of which nothing is known is new, and no change. */
  saw(name: string, item: JsonObject, { stored, gone }: Known): void {
    const known = stored?.hash ?? gone;
    if (known === undefined) return;
    const isSame = stored !== undefined && isSameDescription(stored.described, item);
    const hash = isSame ? known : capabilityHash('tool', name, item);
    if (hash === known) this.#seen.delete(name);
    else if (this.#seen.get(name)?.hash !== hash) {
      const { name: _, ...described } = item;
      this.#seen.set(name, { name, described, hash });
      this.#changed();
    }
  }

  /** Forgets what the store knows by now. */
  stored(capabilities: readonly StoredCapability[]): void {
    if (this.#seen.size === 0) return;
    for (const { type, name, hash } of capabilities)
      if (type === 'tool' && this.#seen.get(name)?.hash === hash) this.#seen.delete(name);
  }
}
