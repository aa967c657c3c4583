// Limits that this instance counts alone while the shared store does not answer: from the store's last answer,
// plus its own calls since.

import { LruCache } from '../../lib/lru-cache.ts';
import { windowName } from '../../store/memory/admit.ts';
import { createWindows, type Place, type WindowName, type Windows } from '../../store/memory/windows.ts';
import type { Limit, LimitState, SettleRequest, WindowLimit } from '../../store/shared-state.ts';
import type { Counted } from './limit-of.ts';

/** What a call took of local limits, until it is settled. */
export interface LocalTake {
  /** By place among the call's limits: the slice of a window. Undefined: the store had counted the call. */
  readonly slices: readonly (number | undefined)[] | undefined;
  open: boolean;
}

/** The usage of a limit as the store last reported it. */
interface Seen {
  readonly used: bigint;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Limits that are remembered. */
const MOST_SEEN = 50_000;

/** Of all organisations. A limit that nothing is known of counts from zero. */
export class LocalLimits {
  readonly #seen = new LruCache<Seen>(MOST_SEEN);
  readonly #inFlight = new Map<string, number>();
  readonly #budgets = new Map<string, bigint>();
  readonly #seeded = new Set<string>();
  #windows: Windows = createWindows();

  /** The store counted a call: what it says is left is remembered, and calls in flight are counted here too. */
  counted(
    organisationId: string,
    counted: readonly Counted[],
    limits: readonly LimitState[],
    now: number,
  ): LocalTake {
    counted.forEach(({ rule, limit }, i) => {
      if (rule.onOutage !== 'local') return;
      const name = nameOf(organisationId, limit);
      const remaining = limits[i]?.remaining;
      if (limit.kind === 'slots') this.#enter(name, 1);
      else if (remaining !== undefined && limit.kind === 'window')
        this.#remember(name, BigInt(limit.limit) - remaining, now);
      else if (remaining !== undefined && limit.kind === 'budget' && limit.cap !== undefined)
        this.#remember(name, limit.cap - remaining, now);
    });
    return { slices: undefined, open: true };
  }

  /** The state of each limit while the store is unavailable; those counted elsewhere deny nothing. */
  ask(organisationId: string, counted: readonly Counted[], now: number): readonly LimitState[] {
    return counted.map(({ rule, limit }) =>
      rule.onOutage === 'local' ? this.#state(organisationId, limit, now) : FREE,
    );
  }

  /** Takes a call's limits. */
  take(organisationId: string, counted: readonly Counted[], now: number): LocalTake {
    const slices = counted.map(({ rule, limit }) => {
      if (rule.onOutage !== 'local') return undefined;
      const name = nameOf(organisationId, limit);
      if (limit.kind === 'slots') this.#enter(name, 1);
      else if (limit.kind === 'budget') this.#spend(name, limit.amount);
      else {
        const { name: window, base } = this.#place(organisationId, limit, now);
        return this.#take(window, now, base + limit.cost);
      }
      return undefined;
    });
    return { slices, open: true };
  }

  /** The actual usage of a call. Takes effect once, however often it is called. */
  settle(
    organisationId: string,
    counted: readonly Counted[],
    taken: LocalTake,
    { charges, costs }: Pick<SettleRequest, 'charges' | 'costs'>,
    now: number,
  ): void {
    if (!taken.open) return;
    taken.open = false;
    counted.forEach(({ rule, limit }, i) => {
      if (rule.onOutage !== 'local') return;
      const name = nameOf(organisationId, limit);
      if (limit.kind === 'slots') this.#enter(name, -1);
      else if (taken.slices === undefined) return;
      else if (limit.kind === 'budget') {
        const charge = charges?.find(({ key }) => key === limit.key);
        if (charge !== undefined) this.#spend(name, charge.amount - limit.amount);
      } else {
        const told = costs?.find(({ key }) => key === limit.key);
        const more = told === undefined ? 0 : told.cost - limit.cost;
        const window = windowName(organisationId, limit);
        if (more > 0) this.#take(window, now, more);
        else if (more < 0) this.#windows.give(window, taken.slices[i] ?? 0, -more);
        this.#windows.keep();
      }
    });
  }

  /** The store answers again: it decides, and local counts are dropped. */
  forget(): void {
    this.#windows = createWindows();
    this.#budgets.clear();
    this.#seeded.clear();
  }

  #state(organisationId: string, limit: Limit, now: number): LimitState {
    const name = nameOf(organisationId, limit);
    switch (limit.kind) {
      case 'slots':
        return { ...FREE, denied: (this.#inFlight.get(name) ?? 0) >= limit.limit };
      case 'budget': {
        const spent = this.#budgets.get(name) ?? this.#seen.get(name)?.used ?? 0n;
        return { ...FREE, denied: limit.cap !== undefined && spent + limit.amount > limit.cap };
      }
      case 'window': {
        const us = now * 1000;
        const { name: window, base } = this.#place(organisationId, limit, now);
        this.#seed(name, window, limit, now);
        if (this.#windows.total(window, us) + base + limit.cost <= limit.limit) return FREE;
        const wait = this.#windows.wait(window, us, limit.cost, limit.limit);
        return {
          ...FREE,
          denied: true,
          retryAfterMs: wait === undefined ? undefined : Math.ceil(wait / 1000),
        };
      }
    }
  }

  #place(organisationId: string, limit: WindowLimit, now: number): Place {
    return this.#windows.place(windowName(organisationId, limit), limit.pool?.most ?? 0, now * 1000);
  }

  /** What was used when the store last answered counts as used now: the time of that usage is unknown. */
  #seed(name: string, window: WindowName, { windowMs }: WindowLimit, now: number): void {
    if (this.#seeded.has(name)) return;
    // Seeded twice, a window counts more than it has to, never less.
    if (this.#seeded.size >= MOST_SEEN) this.#seeded.clear();
    this.#seeded.add(name);
    const seen = this.#seen.get(name);
    if (seen !== undefined && now - seen.at < windowMs) this.#take(window, now, Number(seen.used));
  }

  #take(window: WindowName, now: number, cost: number): number {
    const us = now * 1000;
    const slice = cost > 0 ? this.#windows.take(window, us, cost) : this.#windows.slice(window, us);
    this.#windows.keep();
    return slice;
  }

  #spend(name: string, amount: bigint): void {
    const spent = (this.#budgets.get(name) ?? this.#seen.get(name)?.used ?? 0n) + amount;
    this.#budgets.set(name, spent < 0n ? 0n : spent);
  }

  #enter(name: string, calls: 1 | -1): void {
    const count = (this.#inFlight.get(name) ?? 0) + calls;
    if (count > 0) this.#inFlight.set(name, count);
    else this.#inFlight.delete(name);
  }

  #remember(name: string, used: bigint, at: number): void {
    this.#seen.set(name, { used: used < 0n ? 0n : used, at });
  }
}

const FREE: LimitState = Object.freeze({ denied: false, remaining: undefined, retryAfterMs: undefined });

function nameOf(organisationId: string, { kind, key }: Limit): string {
  return `${organisationId}\0${kind}\0${key}`;
}
