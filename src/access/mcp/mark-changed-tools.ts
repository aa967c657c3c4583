// Stores that descriptions of tools have changed, as servers list them to clients: the catalogue marks them, the audit log
// tells of it, and the one that was accepted stays pinned.
import { GatewayError } from '../../lib/errors.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { updateOperation } from '../../store/documents.ts';
import type { SystemChanges } from '../audit/system-changes.ts';
import { type McpCatalogueBody, mcpCatalogues, type StoredCapability } from './mcp-collections.ts';
import type { McpReplica, SeenOf } from './mcp-replica.ts';
import type { SeenTool } from './seen-tools.ts';

export interface MarkDeps {
  readonly replica: Pick<McpReplica, 'onSeen' | 'integration'>;
  readonly documents: Pick<DocumentStore, 'get'>;
  readonly systemChanges: SystemChanges;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Told of a mark that could not be stored: the tools are held back in this process alone. */
  readonly failed: (error: unknown) => void;
}

const ATTEMPTS = 5;
/** Between two marks of one integration: a server may describe itself otherwise each time. */
const PAUSE_MS = 10_000;

/** Follows what lists show. */
export class ChangedToolMarks {
  readonly #deps: MarkDeps;
  readonly #leave: () => void;
  /** Integrations whose marks are being written, or were a moment ago. */
  readonly #busy = new Map<string, NodeJS.Timeout | undefined>();
  /** Those with more to write after that. */
  readonly #again = new Map<string, SeenOf>();

  constructor(deps: MarkDeps) {
    this.#deps = deps;
    this.#leave = deps.replica.onSeen((seen) => this.#seen(seen));
  }

  close(): void {
    this.#leave();
    this.#again.clear();
    for (const timer of this.#busy.values()) clearTimeout(timer);
  }

  #seen(seen: SeenOf): void {
    const { integrationId } = seen;
    if (this.#busy.has(integrationId)) {
      this.#again.set(integrationId, seen);
      return;
    }
    this.#busy.set(integrationId, undefined);
    // The list is answered first: all of its tools are stored at once.
    setImmediate(() => {
      const work = this.#marked(seen).catch((error: unknown) => this.#deps.failed(error));
      void work.then(() => this.#rest(integrationId));
    });
  }

  #rest(integrationId: string): void {
    const timer = setTimeout(() => {
      this.#busy.delete(integrationId);
      const more = this.#again.get(integrationId);
      this.#again.delete(integrationId);
      if (more !== undefined) this.#seen(more);
    }, PAUSE_MS);
    timer.unref();
    this.#busy.set(integrationId, timer);
  }

  /** @throws GatewayError what the store throws */
  async #marked({ organisationId, integrationId, tools }: SeenOf): Promise<void> {
    const { documents, systemChanges, replica, now } = this.#deps;
    const scope = { organisationId, workspaceId: undefined };
    for (let attempt = 1; ; attempt++) {
      const before = await documents.get(scope, mcpCatalogues, integrationId);
      if (before === undefined || before.body.isTold) return;
      const at = now();
      const { body, names } = withChanges(before, tools.all, at);
      if (names.length === 0) return;
      const integration = replica.integration(organisationId, integrationId);
      try {
        await systemChanges.commit(
          {
            verb: 'update',
            resource: 'mcp-integration-capabilities',
            detail: 'the server describes tools otherwise',
          },
          scope,
          [updateOperation(mcpCatalogues, before.id, before.version, { body, updatedAt: at })],
          {
            id: integrationId,
            name: integration?.body.name ?? '',
            workspaceId: integration?.workspaceId,
            after: { changed: names },
          },
        );
        return;
      } catch (error) {
        const isLost = error instanceof GatewayError && error.reason === 'version_conflict';
        if (!isLost || attempt === ATTEMPTS) throw error;
      }
    }
  }
}

/** The catalogue with what was seen; tools that the server had no more are there again. */
function withChanges({ body }: Document<McpCatalogueBody>, seen: readonly SeenTool[], at: number) {
  const byName = new Map(seen.map((one) => [one.name, one]));
  const names: string[] = [];
  const capabilities = body.capabilities.map((one): StoredCapability => {
    const now = one.type === 'tool' ? byName.get(one.name) : undefined;
    if (now === undefined) return one;
    byName.delete(one.name);
    if (now.hash === one.hash) return one;
    names.push(one.name);
    const { changedAt: _, ...rest } = one;
    const changed = now.hash === one.pinned ? {} : { changedAt: at };
    return { ...rest, described: now.described, hash: now.hash, updatedAt: at, ...changed };
  });
  const gone = new Map(body.gone?.map(({ name, pinned }) => [name, pinned]));
  for (const { name, described, hash } of byName.values()) {
    const pinned = gone.get(name);
    if (pinned === undefined) continue;
    names.push(name);
    gone.delete(name);
    const times = { createdAt: at, updatedAt: at, changedAt: at };
    capabilities.push({ type: 'tool', name, described, hash, pinned, ...times });
  }
  const left = [...gone].map(([name, pinned]) => ({ name, pinned }));
  const { gone: _, ...rest } = body;
  return { body: { ...rest, capabilities, ...(left.length === 0 ? {} : { gone: left }) }, names };
}
