// Which target of a load balance has a conversation's prompt in its provider's cache.
import { createHash } from 'node:crypto';
import { LruCache } from '../../lib/lru-cache.ts';
import type { SharedState } from '../../store/shared-state.ts';
import type { BalancePlan } from '../plan/plan.ts';
import { fieldValue, type StickyInput } from './call-fields.ts';
import type { Warmth } from './ports.ts';
import { cacheMinimum, givenName, lifeOf, prefixDigest, promptTokens } from './prompt-prefix.ts';

type State = Pick<SharedState, 'acquireLease' | 'releaseLease'>;

const MOST_KEPT = 100_000;
/** What asking the other instances may cost a call, in milliseconds. */
const DEADLINE_MS = 250;

interface Binding {
  readonly index: number;
  readonly endsAt: number;
}

/** Warm targets: in the shared state, where there is one and it answers; in this process else. */
export class AffinityStore {
  readonly #kept = new LruCache<Binding>(MOST_KEPT);
  readonly #state: State | undefined;
  readonly #now: () => number;

  constructor(state: State | undefined, now: () => number) {
    this.#state = state;
    this.#now = now;
  }

  /** The warm target's index; `chosen` from now on where none is. */
  async claim(organisationId: string, key: string, chosen: number, ttlMs: number): Promise<Claimed> {
    const name = `${organisationId}\0${key}`;
    const kept = this.#known(name);
    const shared = await this.#acquire(organisationId, key, chosen, ttlMs);
    const index = shared?.index ?? kept?.index ?? chosen;
    this.#keep(name, index, ttlMs);
    return { index, warm: kept?.index === index || shared?.acquired === false };
  }

  /** The target answered: it is warm for so long from now on, in the place of the one that was. */
  async answered(
    organisationId: string,
    key: string,
    before: number,
    index: number,
    ttlMs: number,
  ): Promise<void> {
    this.#keep(`${organisationId}\0${key}`, index, ttlMs);
    if (before !== index && this.#state !== undefined) {
      const release = { key: `affinity-${key}`, owner: `target-${before}` };
      await this.#state.releaseLease(organisationId, release, { deadlineMs: DEADLINE_MS }).catch(() => {});
    }
    await this.#acquire(organisationId, key, index, ttlMs);
  }

  /** A lease whose owner is the target; its owner acquires it again to live longer. */
  async #acquire(
    organisationId: string,
    key: string,
    index: number,
    leaseMs: number,
  ): Promise<{ readonly index: number; readonly acquired: boolean } | undefined> {
    if (this.#state === undefined) return undefined;
    try {
      const request = { key: `affinity-${key}`, owner: `target-${index}`, leaseMs };
      const { owner, acquired } = await this.#state.acquireLease(organisationId, request, {
        deadlineMs: DEADLINE_MS,
      });
      const held = Number(/^target-(\d{1,4})$/.exec(owner)?.[1]);
      return Number.isInteger(held) ? { index: held, acquired } : undefined;
    } catch {
      return undefined;
    }
  }

  #known(name: string): Binding | undefined {
    const kept = this.#kept.get(name);
    return kept !== undefined && kept.endsAt > this.#now() ? kept : undefined;
  }

  #keep(name: string, index: number, ttlMs: number): void {
    this.#kept.set(name, { index, endsAt: this.#now() + ttlMs });
  }
}

interface Claimed {
  readonly index: number;
  /** Whether it was bound before. */
  readonly warm: boolean;
}

/** Where the call's conversation is warm. @param chosen the target for one that is not */
export async function warmTarget(
  store: AffinityStore,
  plan: BalancePlan,
  chosen: number,
  input: StickyInput,
): Promise<Warmth> {
  const { field, ttlMs: own, minTokens } = plan.affinity!;
  const params = input.params();
  const request = (typeof params === 'object' && params !== null ? params : {}) as Readonly<
    Record<string, unknown>
  >;
  const named = field === undefined ? undefined : fieldValue(field, input);
  const given = named === undefined ? givenName(request) : `field ${JSON.stringify(named)}`;
  const least = minTokens ?? cacheMinimum(typeof request.model === 'string' ? request.model : '');
  const tokens = promptTokens(request);
  const prefix = given ?? (tokens < least ? undefined : prefixDigest(request));
  const ttlMs = own ?? lifeOf(request);
  const facts = { ttlMs, tokens, minTokens: least };
  if (prefix === undefined)
    return { ...facts, key: 'none', index: undefined, warm: false, answered: () => {} };
  const { organisationId, workspaceId } = input;
  const parts = [workspaceId, input.plan.id, plan.path, String(request.model ?? ''), prefix];
  const key = createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 40);
  const claimed = await store.claim(organisationId, key, chosen, ttlMs);
  const index = claimed.index < plan.targets.length ? claimed.index : chosen;
  return {
    ...facts,
    key: given === undefined ? 'prompt' : 'given',
    index,
    warm: claimed.warm && index === claimed.index,
    answered: (by) => void store.answered(organisationId, key, claimed.index, by, ttlMs),
  };
}
