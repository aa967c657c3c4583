// renew, sweep, readBudget and correctBudget in TypeScript.
import { MARK_MS, type SweptHold } from '../shared/holds.ts';
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
  return (org, { key, pool }) => {
    const place = rows.place(org, key, pool);
    const { spent = 0n, held = 0n } = place.budget ?? {};
    return place.key === key ? { spent, held } : { spent, held, together: true };
  };
}

export function correctBudgetBody(rows: StateRows): Body<'correctBudget'> {
  return (org, { key, from, to, mark }, at) => {
    const { spent = 0n, held = 0n, keepUntil } = rows.budget(org, key) ?? {};
    if (spent !== from) return { spent, held, corrected: false };
    if (mark !== undefined) {
      if ((rows.budget(org, mark.key)?.spent ?? 0n) !== mark.from) return { spent, held, corrected: false };
      rows.setBudget(org, mark.key, { spent: mark.to, held: 0n, keepUntil: at.ms + MARK_MS });
    }
    rows.setBudget(org, key, { spent: to, held, keepUntil });
    return { spent: to, held, corrected: true };
  };
}
