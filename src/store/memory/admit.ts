// admit in TypeScript: looks at every limit without writing, then takes all of them or none.
import { type Admission, type Limit, type LimitState, longestWait, sliceLength } from '../shared/admit.ts';
import { SLICES } from '../shared/bounds.ts';
import type { TakenItem } from '../state-transfer.ts';
import type { Body } from './call.ts';
import type { JournalRows } from './journal.ts';
import type { Moment } from './moment.ts';
import type { Budget, StateRows } from './rows.ts';
import type { WindowName, Windows } from './windows.ts';

/** A budget as it was found, by its place among the limits. */
type Found = (Budget | undefined)[];

export function admitBody(rows: StateRows, windows: Windows, journal: JournalRows): Body<'admit'> {
  function check(org: string, limit: Limit, at: Moment, budgets: Found, place: number): LimitState {
    switch (limit.kind) {
      case 'window': {
        const name = windowName(org, limit);
        const total = windows.total(name, at.us);
        const denied = total + limit.cost > limit.limit;
        const wait = denied ? windows.wait(name, at.us, limit.cost, limit.limit) : undefined;
        return {
          denied,
          remaining: BigInt(Math.max(0, limit.limit - total)),
          retryAfterMs: wait === undefined ? undefined : Math.ceil(wait / 1000),
        };
      }
      case 'budget': {
        budgets[place] = rows.budget(org, limit.key);
        const { spent = 0n, held = 0n } = budgets[place] ?? {};
        if (limit.cap === undefined) return { denied: false, remaining: undefined, retryAfterMs: undefined };
        return {
          denied: spent + held + limit.amount > limit.cap,
          remaining: atLeastZero(limit.cap - spent - held),
          retryAfterMs: undefined,
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
    budget: Budget | undefined,
  ): TakenItem {
    switch (limit.kind) {
      case 'window': {
        const name = windowName(org, limit);
        const slice = limit.cost > 0 ? windows.take(name, at.us, limit.cost) : windows.slice(name, at.us);
        return ['w', limit.key, name.length, name.slices, slice, limit.cost];
      }
      case 'budget': {
        const { spent = 0n, held = 0n } = budget ?? {};
        rows.setBudget(org, limit.key, { spent, held: held + limit.amount, keepUntil: limit.keepUntil });
        return ['b', limit.key, limit.amount.toString()];
      }
      case 'slots':
        rows.setSlot(org, limit.key, id, expiresAt);
        return ['s', limit.key];
    }
  }

  return (org, { limits, hold, dryRun, journal: wanted }, at): Admission => {
    const budgets: Found = [];
    const found = limits.map((limit, i) => check(org, limit, at, budgets, i));
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
    const items = limits.map((limit, i) => take(org, limit, at, hold?.id ?? '', expiresAt ?? 0, budgets[i]));
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
  return { org, key: limit.key, length: sliceLength(limit), slices: limit.slices ?? SLICES };
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
