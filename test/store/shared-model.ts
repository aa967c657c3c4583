// The reference model of shared state: plain lists and sums, written apart from both adapters.

import type { OwnEntry } from '../../src/store/shared/journal.ts';
import type { SettleOrder } from '../../src/store/shared/settle.ts';
import type {
  Admission,
  AdmitRequest,
  AppendRequest,
  Limit,
  LimitState,
  RenewRequest,
  Settlement,
  SweepRequest,
  SweptHold,
  WindowLimit,
} from '../../src/store/shared-state.ts';

interface Counted {
  slice: number;
  cost: number;
}

/** A window as the list of what was counted. */
class WindowModel {
  counted: Counted[] = [];
  newest: number | undefined;
  readonly length: number;
  readonly slices: number;

  constructor(length: number, slices: number) {
    this.length = length;
    this.slices = slices;
  }

  current(us: number): number {
    const slice = Math.floor(us / this.length);
    if (this.newest === undefined || slice > this.newest) return slice;
    return this.newest - slice <= this.slices ? this.newest : slice;
  }

  folded(us: number): boolean {
    return this.newest !== undefined && this.newest - Math.floor(us / this.length) > this.slices;
  }

  live(us: number): Counted[] {
    const current = this.current(us);
    if (this.folded(us)) {
      const kept = this.counted.filter(({ slice }) => slice >= (this.newest ?? 0) - this.slices);
      return kept.map(({ cost }) => ({ slice: current, cost }));
    }
    return this.counted.filter(({ slice }) => slice >= current - this.slices);
  }

  total(us: number): number {
    return this.live(us).reduce((sum, { cost }) => sum + cost, 0);
  }

  take(us: number, cost: number): void {
    this.counted = this.live(us);
    this.newest = this.current(us);
    this.counted.push({ slice: this.newest, cost });
  }

  give(slice: number, cost: number): void {
    let left = cost;
    for (const one of this.counted) {
      if (one.slice !== slice || this.newest === undefined || slice < this.newest - this.slices) continue;
      const given = Math.min(left, one.cost);
      one.cost -= given;
      left -= given;
    }
  }

  wait(us: number, cost: number, limit: number): number | undefined {
    if (cost > limit) return undefined;
    const live = this.live(us);
    const current = this.current(us);
    for (let step = 1; step <= this.slices + 1; step++) {
      const rest = live.filter(({ slice }) => slice >= current + step - this.slices);
      if (rest.reduce((sum, one) => sum + one.cost, 0) + cost <= limit) {
        return Math.ceil(((current + step) * this.length - us) / 1000);
      }
    }
    return undefined;
  }
}

interface HoldModel {
  owner: string;
  expiresAt: number;
  settled: boolean;
  note: string;
  limits: readonly Limit[];
  slices: Map<string, number>;
  /** Slots that it is in, until when. */
  slotsUntil: number;
}

const least = (amount: bigint): bigint => (amount < 0n ? 0n : amount);

/** One organisation. `us` is the store's clock. */
export class Model {
  readonly windows = new Map<string, WindowModel>();
  readonly holds = new Map<string, HoldModel>();
  readonly budgets = new Map<string, { spent: bigint; held: bigint }>();
  readonly journal: {
    seq: number;
    id: string;
    data: string;
    madeAt: number;
    consumer?: string;
    until?: number;
  }[] = [];
  readonly journalIds = new Set<string>();
  tail = 0;

  window(limit: Pick<WindowLimit, 'key' | 'windowMs' | 'slices'>): WindowModel {
    const found = this.windows.get(limit.key);
    if (found !== undefined) return found;
    const slices = limit.slices ?? 120;
    const made = new WindowModel(Math.ceil((limit.windowMs * 1000) / slices), slices);
    this.windows.set(limit.key, made);
    return made;
  }

  budget(key: string): { spent: bigint; held: bigint } {
    return { ...(this.budgets.get(key) ?? { spent: 0n, held: 0n }) };
  }

  state(limit: Limit, us: number, fresh: boolean): LimitState {
    const none = { denied: false, remaining: undefined, retryAfterMs: undefined };
    switch (limit.kind) {
      case 'window': {
        const window = this.window(limit);
        const total = window.total(us);
        const denied = fresh && total + limit.cost > limit.limit;
        return {
          denied,
          remaining: least(BigInt(limit.limit - total)),
          retryAfterMs: denied ? window.wait(us, limit.cost, limit.limit) : undefined,
        };
      }
      case 'budget': {
        const { spent, held } = this.budget(limit.key);
        if (limit.cap === undefined) return none;
        const denied = fresh && spent + held + limit.amount > limit.cap;
        return { ...none, denied, remaining: least(limit.cap - spent - held) };
      }
      case 'slots': {
        const used = [...this.holds.values()].filter(
          (hold) =>
            !hold.settled &&
            hold.slotsUntil > Math.floor(us / 1000) &&
            hold.limits.some(({ kind, key }) => kind === 'slots' && key === limit.key),
        ).length;
        return {
          ...none,
          denied: fresh && used >= limit.limit,
          remaining: least(BigInt(limit.limit - used)),
        };
      }
    }
  }

  admit({ limits, hold, dryRun, journal }: AdmitRequest, us: number): Admission {
    const prior = hold && this.holds.get(hold.id);
    const states = limits.map((limit) => this.state(limit, us, prior === undefined));
    const denials = states.filter(({ denied }) => denied);
    const waits = denials.map(({ retryAfterMs }) => retryAfterMs ?? Number.POSITIVE_INFINITY);
    const longest = Math.max(0, ...waits);
    const answer = (outcome: Admission['outcome'], expiresAt?: number, list = states): Admission => ({
      outcome,
      limits: list,
      expiresAt,
      retryAfterMs: denials.length > 0 && longest < Number.POSITIVE_INFINITY ? longest : undefined,
    });
    if (prior) return prior.settled ? answer('settled') : answer('repeated', prior.expiresAt);
    if (denials.length > 0) return answer('denied');
    if (journal && this.journal.length >= journal.maxLength) return answer('journal_full');
    if (dryRun) return answer('fits');
    const slices = new Map<string, number>();
    for (const limit of limits) {
      if (limit.kind === 'budget') {
        const { spent, held } = this.budget(limit.key);
        this.budgets.set(limit.key, { spent, held: held + limit.amount });
      } else if (limit.kind === 'window') {
        const window = this.window(limit);
        slices.set(limit.key, window.current(us));
        if (limit.cost > 0) window.take(us, limit.cost);
      }
    }
    const expiresAt = hold && Math.floor(us / 1000) + hold.leaseMs;
    if (hold && expiresAt !== undefined) {
      const { owner, note = '' } = hold;
      this.holds.set(hold.id, {
        owner,
        expiresAt,
        settled: false,
        note,
        limits,
        slices,
        slotsUntil: expiresAt,
      });
    }
    if (journal?.entry) this.push(journal.entry, us);
    const after = limits.map((limit) => this.state(limit, us, false));
    return answer('admitted', expiresAt, after);
  }

  settle(order: SettleOrder, us: number): Settlement {
    const hold = this.holds.get(order.id);
    if (hold?.settled) return { outcome: 'repeated', budgets: [] };
    if (!hold && order.orphan !== 'charge') return { outcome: 'unknown', budgets: [] };
    const named = new Map((order.charges ?? []).map(({ key, amount }) => [key, amount]));
    const held = new Map<string, bigint>();
    for (const limit of hold?.limits ?? []) {
      if (limit.kind === 'budget') {
        held.set(limit.key, limit.amount);
        if (!named.has(limit.key)) named.set(limit.key, order.unnamed === 'as_held' ? limit.amount : 0n);
      } else if (limit.kind === 'window') {
        const told = order.costs?.find(({ key }) => key === limit.key)?.cost;
        const actual = told ?? (order.unnamed === 'refunded' ? 0 : limit.cost);
        const window = this.window(limit);
        if (actual > limit.cost) window.take(us, actual - limit.cost);
        else window.give(hold?.slices.get(limit.key) ?? 0, limit.cost - actual);
      }
    }
    const budgets = [...named].map(([key, charged]) => {
      const before = this.budget(key);
      const after = { spent: before.spent + charged, held: least(before.held - (held.get(key) ?? 0n)) };
      this.budgets.set(key, after);
      return { key, charged, ...after };
    });
    const mark = {
      owner: '',
      expiresAt: 0,
      settled: true,
      note: '',
      limits: [],
      slices: new Map(),
      slotsUntil: 0,
    };
    this.holds.set(order.id, mark);
    const outcome = hold ? 'settled' : 'orphan';
    if (!order.entry) return { outcome, budgets };
    this.push(order.entry, us);
    return { outcome, budgets, seq: String(this.tail) };
  }

  /** A correction that counted from the right sum, or not. */
  correct(key: string, to: bigint, right: boolean) {
    const { spent, held } = this.budget(key);
    if (right) this.budgets.set(key, { spent: to, held });
    return { spent: right ? to : spent, held, corrected: right };
  }

  renew({ ids, owner, leaseMs }: RenewRequest, us: number) {
    return ids.map((id) => {
      const hold = this.holds.get(id);
      if (!hold) return 'unknown';
      if (hold.settled) return 'settled';
      if (hold.owner !== owner) return 'lost';
      hold.expiresAt = Math.floor(us / 1000) + leaseMs;
      hold.slotsUntil = hold.expiresAt;
      return 'renewed';
    });
  }

  sweep({ owner, leaseMs, max }: SweepRequest, us: number): SweptHold[] {
    const ms = Math.floor(us / 1000);
    const expired = [...this.holds].filter(([, hold]) => !hold.settled && hold.expiresAt <= ms);
    expired.sort(([a, one], [b, two]) => one.expiresAt - two.expiresAt || (a < b ? -1 : 1));
    return expired.slice(0, max).map(([id, hold]) => {
      const swept: SweptHold = {
        id,
        owner: hold.owner,
        expiredAt: hold.expiresAt,
        note: hold.note,
        budgets: hold.limits.flatMap((l) => (l.kind === 'budget' ? [{ key: l.key, amount: l.amount }] : [])),
        windows: hold.limits.flatMap((l) => (l.kind === 'window' ? [{ key: l.key, cost: l.cost }] : [])),
      };
      hold.owner = owner;
      hold.expiresAt = ms + leaseMs;
      return swept;
    });
  }

  push({ id, data, claim }: OwnEntry, us: number): void {
    const ms = Math.floor(us / 1000);
    const own = claim ? { consumer: claim.consumer, until: ms + claim.leaseMs } : {};
    this.journal.push({ seq: ++this.tail, id, data, madeAt: ms, ...own });
  }

  append({ entries, maxLength }: AppendRequest, us: number) {
    const fresh = entries.filter(
      ({ id }, i) => !this.journalIds.has(id) && entries.findIndex((other) => other.id === id) === i,
    );
    const size = this.journal.length;
    if (size + fresh.length > maxLength) return { accepted: false, repeated: 0, size };
    for (const entry of fresh) {
      this.journalIds.add(entry.id);
      this.push(entry, us);
    }
    return { accepted: true, repeated: entries.length - fresh.length, size: this.journal.length };
  }

  claim({ consumer, leaseMs, max }: { consumer: string; leaseMs: number; max: number }, us: number) {
    const ms = Math.floor(us / 1000);
    const again = this.journal.filter(({ until }) => until !== undefined && until <= ms);
    again.sort((a, b) => (a.until ?? 0) - (b.until ?? 0) || a.seq - b.seq);
    const fresh = this.journal.filter(({ until }) => until === undefined);
    return [...again, ...fresh].slice(0, max).map((entry) => {
      entry.consumer = consumer;
      entry.until = ms + leaseMs;
      return { seq: String(entry.seq), id: entry.id, data: entry.data };
    });
  }

  acknowledge({ consumer, seqs }: { consumer: string; seqs: readonly string[] }): number {
    let done = 0;
    for (const seq of seqs) {
      const at = this.journal.findIndex((one) => String(one.seq) === seq && one.consumer === consumer);
      if (at < 0) continue;
      this.journal.splice(at, 1);
      done++;
    }
    return done;
  }

  readJournal(us: number) {
    const [first] = this.journal;
    return {
      size: this.journal.length,
      claimed: this.journal.filter(({ until }) => until !== undefined).length,
      lagMs: first ? Math.max(0, Math.floor(us / 1000) - first.madeAt) : 0,
    };
  }
}
