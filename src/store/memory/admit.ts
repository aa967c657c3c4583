// admit in TypeScript: looks at every limit without writing, then takes all of them or none.
import { type Admission, type Limit, type LimitState, longestWait, sliceLength } from '../shared/admit.ts';
import { SLICES } from '../shared/bounds.ts';
import type { TakenItem } from '../state-transfer.ts';
import type { Body } from './call.ts';
import type { JournalRows } from './journal.ts';
import type { Moment } from './moment.ts';
import type { BudgetPlace, StateRows } from './rows.ts';
import { othersOf, type Place, type WindowName, type Windows } from './windows.ts';

/** Where a budget or a window is counted, by its place among the limits. */
interface Found {
  readonly budgets: (BudgetPlace | undefined)[];
  readonly places: (Place | undefined)[];
}

export function admitBody(rows: StateRows, windows: Windows, journal: JournalRows): Body<'admit'> {
  function check(org: string, limit: Limit, at: Moment, found: Found, i: number): LimitState {
    switch (limit.kind) {
      case 'window': {
        const place = windows.place(windowName(org, limit), limit.pool?.most ?? 0, at.us);
        found.places[i] = place;
        const { name, base } = place;
        const total = windows.total(name, at.us) + base;
        const denied = total + limit.cost > limit.limit;
        const counts = base > 0 && limit.pool ? { ...name, key: othersOf(limit.pool.key) } : name;
        const wait = denied ? windows.wait(counts, at.us, limit.cost, limit.limit) : undefined;
        return {
          denied,
          remaining: BigInt(Math.max(0, limit.limit - total)),
          retryAfterMs: wait === undefined ? undefined : Math.ceil(wait / 1000),
        };
      }
      case 'budget': {
        const place = rows.place(org, limit.key, limit.pool);
        found.budgets[i] = place;
        const { spent = 0n, held = 0n } = place.budget ?? {};
        const elsewhere = place.key === limit.key ? {} : { countedIn: place.key };
        if (limit.cap === undefined)
          return { denied: false, remaining: undefined, retryAfterMs: undefined, ...elsewhere };
        return {
          denied: spent + held + limit.amount > limit.cap,
          remaining: atLeastZero(limit.cap - spent - held),
          retryAfterMs: undefined,
          ...elsewhere,
        };
      }
      case 'slots': {
        const used = rows.liveSlots(org, limit.key, at.ms);
        const remaining = BigInt(Math.max(0, limit.limit - used));
        return { denied: used >= limit.limit, remaining, retryAfterMs: undefined };
      }
    }
  }

  function take(
    org: string,
    limit: Limit,
    at: Moment,
    id: string,
    expiresAt: number,
    { budget, place }: { readonly budget: BudgetPlace | undefined; readonly place: Place | undefined },
  ): TakenItem {
    switch (limit.kind) {
      case 'window': {
        const { name, base } = place ?? { name: windowName(org, limit), base: 0 };
        const { cost, pool, key } = limit;
        const slice = cost > 0 ? windows.take(name, at.us, base + cost) : windows.slice(name, at.us);
        return pool === undefined
          ? ['w', key, name.length, name.slices, slice, cost]
          : ['w', name.key, name.length, name.slices, slice, cost, pool.key, key];
      }
      case 'budget': {
        const { keepUntil, amount, pool } = limit;
        const { key = limit.key, budget: found, joins } = budget ?? {};
        const { spent = 0n, held = 0n } = found ?? {};
        rows.setBudget(org, key, { spent, held: held + amount, keepUntil });
        if (pool !== undefined && joins !== undefined)
          rows.setBudget(org, pool.key, { spent: joins + 1n, held: 0n, keepUntil });
        return ['b', key, amount.toString()];
      }
      case 'slots':
        rows.setSlot(org, limit.key, id, expiresAt);
        return ['s', limit.key];
    }
  }

  return (org, { limits, hold, dryRun, journal: wanted }, at): Admission => {
    const known: Found = { budgets: [], places: [] };
    const found = limits.map((limit, i) => check(org, limit, at, known, i));
    const answer = (outcome: Admission['outcome'], states = found, expiresAt?: number): Admission => ({
      outcome,
      limits: states,
      expiresAt,
      retryAfterMs: longestWait(states),
    });
    const prior = hold === undefined ? undefined : rows.hold(org, hold.id);
    if (prior !== undefined) {
      const states = found.map((state) => ({ ...state, denied: false, retryAfterMs: undefined }));
      return prior.settled ? answer('settled', states) : answer('repeated', states, prior.expiresAt);
    }
    if (found.some(({ denied }) => denied)) return answer('denied');
    if (wanted !== undefined && journal.size(org) >= wanted.maxLength) return answer('journal_full');
    if (dryRun) return answer('fits');

    const expiresAt = hold === undefined ? undefined : at.ms + hold.leaseMs;
    const items = limits.map((limit, i) =>
      take(org, limit, at, hold?.id ?? '', expiresAt ?? 0, {
        budget: known.budgets[i],
        place: known.places[i],
      }),
    );
    if (hold !== undefined && expiresAt !== undefined) {
      rows.addHold(org, hold.id, { owner: hold.owner, expiresAt, note: hold.note ?? '', items });
    }
    if (wanted?.entry !== undefined) journal.append(org, wanted.entry, at);
    return answer(
      'admitted',
      found.map((state, index) => ({ ...state, remaining: left(state, limits[index] as Limit) })),
      expiresAt,
    );
  };
}

export function windowName(org: string, limit: Extract<Limit, { kind: 'window' }>): WindowName {
  return {
    org,
    key: limit.key,
    length: sliceLength(limit),
    slices: limit.slices ?? SLICES,
    pool: limit.pool?.key,
  };
}

/** What remains when the limit was taken. */
function left(state: LimitState, limit: Limit): bigint | undefined {
  if (state.remaining === undefined) return undefined;
  switch (limit.kind) {
    case 'window':
      return atLeastZero(state.remaining - BigInt(limit.cost));
    case 'budget':
      return atLeastZero(state.remaining - limit.amount);
    case 'slots':
      return state.remaining - 1n;
  }
}

function atLeastZero(amount: bigint): bigint {
  return amount < 0n ? 0n : amount;
}
