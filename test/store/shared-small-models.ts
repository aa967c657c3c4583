// Reference models of leases, values, circuits and the cache.
import type {
  Circuit,
  CircuitCall,
  CircuitReport,
  CircuitRules,
  LeaseRequest,
  ValueWrite,
} from '../../src/store/shared-state.ts';

export class LeaseModel {
  readonly held = new Map<string, { owner: string; token: number; expiresAt: number }>();
  last = 0;

  live(key: string, us: number) {
    const lease = this.held.get(key);
    return lease && lease.expiresAt > Math.floor(us / 1000) ? lease : undefined;
  }

  acquire({ key, owner, leaseMs }: LeaseRequest, us: number) {
    const there = this.live(key, us);
    if (there && there.owner !== owner) return { acquired: false, ...there };
    if (!there) this.last = Math.max(us, this.last + 1);
    const lease = { owner, token: there?.token ?? this.last, expiresAt: Math.floor(us / 1000) + leaseMs };
    this.held.set(key, lease);
    return { acquired: true, ...lease };
  }

  renew({ key, owner, leaseMs }: LeaseRequest, us: number): boolean {
    const there = this.live(key, us);
    if (there?.owner !== owner) return false;
    there.expiresAt = Math.floor(us / 1000) + leaseMs;
    return true;
  }

  release({ key, owner }: { key: string; owner: string }, us: number): boolean {
    return this.live(key, us)?.owner === owner && this.held.delete(key);
  }
}

export class ValueModel {
  readonly values = new Map<string, { version: number; value: string | undefined }>();

  read(key: string) {
    return { ...(this.values.get(key) ?? { version: 0, value: undefined }) };
  }

  write({ key, version, value }: ValueWrite) {
    const there = this.read(key);
    if (there.version !== version) return { ...there, written: false };
    this.values.set(key, { version: version + 1, value });
    return { version: version + 1, value, written: true };
  }
}

/** Every outcome with its time; the state from them. */
export class CircuitModel {
  outcomes: { slice: number; failed: boolean }[] = [];
  openUntil = 0;
  probe: { caller: string; until: number } | undefined;

  view(rules: CircuitRules, us: number): Circuit {
    const ms = Math.floor(us / 1000);
    const from = Math.floor(ms / Math.ceil(rules.windowMs / 10)) - 10;
    const live = this.outcomes.filter(({ slice }) => slice >= from);
    return {
      state: this.openUntil === 0 ? 'closed' : ms < this.openUntil ? 'open' : 'half_open',
      failures: live.filter(({ failed }) => failed).length,
      outcomes: live.length,
      openUntil: this.openUntil,
    };
  }

  allow(call: CircuitCall, us: number) {
    const ms = Math.floor(us / 1000);
    const seen = this.view(call, us);
    const no = (retryAfterMs: number) => ({ ...seen, allowed: false, probe: false, retryAfterMs });
    if (seen.state === 'closed') return { ...seen, allowed: true, probe: false, retryAfterMs: 0 };
    if (seen.state === 'open') return no(this.openUntil - ms);
    if (this.probe && this.probe.until > ms && this.probe.caller !== call.caller)
      return no(this.probe.until - ms);
    this.probe = { caller: call.caller, until: ms + call.probeMs };
    return { ...seen, allowed: true, probe: true, retryAfterMs: 0 };
  }

  report(report: CircuitReport, us: number): Circuit {
    const ms = Math.floor(us / 1000);
    const { state } = this.view(report, us);
    if (state === 'closed') {
      const slice = Math.floor(ms / Math.ceil(report.windowMs / 10));
      // Slices that left the window are gone for good, also when the clock goes back.
      this.outcomes = this.outcomes.filter((one) => one.slice >= slice - 10);
      this.outcomes.push({ slice, failed: report.failed });
      const { failures, outcomes } = this.view(report, us);
      if (
        report.failed &&
        failures >= report.failures &&
        failures * 100 >= (report.percent ?? 0) * outcomes
      ) {
        this.openUntil = ms + report.openMs;
      }
    } else if (state === 'half_open' && this.probe?.caller === report.caller && this.probe.until > ms) {
      this.outcomes = [];
      this.probe = undefined;
      this.openUntil = report.failed ? ms + report.openMs : 0;
    }
    return this.view(report, us);
  }
}

/** Entries in the order of their last use. */
export class CacheModel {
  entries: { key: string; text: string; madeAt: number; endsAt: number; size: number }[] = [];

  bytes(): number {
    return this.entries.reduce((sum, { size }) => sum + size, 0);
  }

  remove(key: string): boolean {
    const before = this.entries.length;
    this.entries = this.entries.filter((entry) => entry.key !== key);
    return this.entries.length < before;
  }

  read(key: string, maxAgeMs: number | undefined, us: number) {
    const ms = Math.floor(us / 1000);
    const entry = this.entries.find((one) => one.key === key);
    if (!entry) return undefined;
    if (entry.endsAt <= ms) this.remove(key);
    const ageMs = Math.max(0, ms - entry.madeAt);
    if (entry.endsAt <= ms || (maxAgeMs !== undefined && ageMs > maxAgeMs)) return undefined;
    this.remove(key);
    this.entries.push(entry);
    return { text: entry.text, ageMs };
  }

  write(key: string, text: string, ttlMs: number, maxBytes: number, us: number) {
    const ms = Math.floor(us / 1000);
    this.remove(key);
    const size = text.length + key.length;
    if (size > maxBytes) return { kept: false, bytes: this.bytes(), evicted: 0 };
    let evicted = 0;
    for (; this.bytes() + size > maxBytes; evicted++) this.entries.shift();
    this.entries.push({ key, text, madeAt: ms, endsAt: ms + ttlMs, size });
    return { kept: true, bytes: this.bytes(), evicted };
  }
}
