// settle in TypeScript: the hold's row becomes a mark that it was settled.
import type { Charge, ChargedBudget, Settlement, SettleOrder } from '../shared/settle.ts';
import type { TakenItem } from '../state-transfer.ts';
import type { Body } from './call.ts';
import type { JournalRows } from './journal.ts';
import type { Moment } from './moment.ts';
import type { StateRows } from './rows.ts';
import type { Windows } from './windows.ts';

export function settleBody(rows: StateRows, windows: Windows, journal: JournalRows): Body<'settle'> {
  function adjust(
    org: string,
    item: Extract<TakenItem, readonly ['w', ...unknown[]]>,
    actual: number,
    at: Moment,
  ): void {
    const [, key, length, slices, slice, cost, pool] = item;
    const name = { org, key, length, slices, pool };
    if (actual > cost) windows.take(name, at.us, actual - cost);
    else if (actual < cost) windows.give(name, slice, cost - actual);
  }

  function charge(org: string, { key: asked, amount, keepUntil, pool }: Charge, held: bigint): ChargedBudget {
    const { key, budget, joins } = rows.place(org, asked, pool);
    const before = budget ?? { spent: 0n, held: 0n, keepUntil };
    if (pool !== undefined && joins !== undefined)
      rows.setBudget(org, pool.key, { spent: joins + 1n, held: 0n, keepUntil });
    const rest = before.held - held;
    const after = { spent: before.spent + amount, held: rest < 0n ? 0n : rest };
    rows.setBudget(org, key, { ...after, keepUntil: before.keepUntil });
    return { key, charged: amount, ...after };
  }

  return (org, order: SettleOrder, at): Settlement => {
    const taken = rows.taken(org, order.id);
    if (taken === 'settled') return { outcome: 'repeated', budgets: [] };
    if (taken === undefined && order.orphan !== 'charge') return { outcome: 'unknown', budgets: [] };
    const charges = new Map((order.charges ?? []).map((charge) => [charge.key, charge]));
    const costs = new Map((order.costs ?? []).map(({ key, cost }) => [key, cost]));
    const held = new Map<string, bigint>();
    for (const item of taken ?? []) {
      switch (item[0]) {
        case 'b': {
          const amount = BigInt(item[2]);
          held.set(item[1], amount);
          if (!charges.has(item[1]))
            charges.set(item[1], { key: item[1], amount: order.unnamed === 'as_held' ? amount : 0n });
          break;
        }
        case 'w':
          adjust(
            org,
            item,
            costs.get(item[7] ?? item[1]) ?? (order.unnamed === 'refunded' ? 0 : item[5]),
            at,
          );
          break;
        case 's':
          rows.freeSlot(org, item[1], order.id);
      }
    }
    const budgets = [...charges.values()].map((one) => charge(org, one, held.get(one.key) ?? 0n));
    rows.settleHold(org, order.id, at.forgetAt);
    const outcome = taken === undefined ? 'orphan' : 'settled';
    if (order.entry === undefined) return { outcome, budgets };
    return { outcome, budgets, seq: String(journal.append(org, order.entry, at)) };
  };
}
