// renew, sweep, readBudget and correctBudget in TypeScript.
import type { SweptHold } from '../shared/holds.ts';
import type { Body } from './call.ts';
import type { StateRows } from './rows.ts';

export function renewBody(rows: StateRows): Body<'renew'> {
  return (org, { ids, owner, leaseMs }, at) =>
    ids.map((id) => {
      const hold = rows.hold(org, id);
      if (hold === undefined) return 'unknown';
      if (hold.settled) return 'settled';
      if (hold.owner !== owner) return 'lost';
      const expiresAt = at.ms + leaseMs;
      rows.moveHold(org, id, owner, expiresAt);
      for (const item of hold.items) if (item[0] === 's') rows.setSlot(org, item[1], id, expiresAt);
      return 'renewed';
    });
}

/** The slots of a swept hold stay free: its call is not in flight any more. */
export function sweepBody(rows: StateRows): Body<'sweep'> {
  return (org, { owner, leaseMs, max }, at) =>
    rows.expired(org, at.ms, max).flatMap((id): SweptHold[] => {
      const hold = rows.hold(org, id);
      if (hold === undefined) return [];
      rows.moveHold(org, id, owner, at.ms + leaseMs);
      return [
        {
          id,
          owner: hold.owner,
          expiredAt: hold.expiresAt,
          note: hold.note,
          budgets: hold.items.flatMap((item) =>
            item[0] === 'b' ? [{ key: item[1], amount: BigInt(item[2]) }] : [],
          ),
          windows: hold.items.flatMap((item) => (item[0] === 'w' ? [{ key: item[1], cost: item[5] }] : [])),
        },
      ];
    });
}

export function readBudgetBody(rows: StateRows): Body<'readBudget'> {
  return (org, { key }) => rows.budget(org, key);
}

export function correctBudgetBody(rows: StateRows): Body<'correctBudget'> {
  return (org, { key, from, to }) => {
    const there = rows.budget(org, key);
    if (there.spent !== from) return { ...there, corrected: false };
    const after = { spent: to, held: there.held };
    rows.setBudget(org, key, after);
    return { ...after, corrected: true };
  };
}
