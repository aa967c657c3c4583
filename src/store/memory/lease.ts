// Leases in memory: their owners end with the process. Tokens rise with the clock, also over a restart.
import type { Body } from './call.ts';

interface Held {
  owner: string;
  token: number;
  expiresAt: number;
}

/** Acquisitions between two clearings of what expired. */
const CLEAR_EVERY = 4096;

export function leaseBodies(): {
  readonly acquire: Body<'acquireLease'>;
  readonly renew: Body<'renewLease'>;
  readonly release: Body<'releaseLease'>;
} {
  const held = new Map<string, Held>();
  const lastTokens = new Map<string, number>();
  let acquisitions = 0;

  const nameOf = (org: string, key: string): string => `${org}\0${key}`;

  function live(org: string, key: string, ms: number): Held | undefined {
    const lease = held.get(nameOf(org, key));
    return lease !== undefined && lease.expiresAt > ms ? lease : undefined;
  }

  function clear(ms: number): void {
    if (++acquisitions % CLEAR_EVERY !== 0) return;
    for (const [name, lease] of held) if (lease.expiresAt <= ms) held.delete(name);
  }

  return {
    acquire: (org, { key, owner, leaseMs }, at) => {
      clear(at.ms);
      const there = live(org, key, at.ms);
      if (there !== undefined && there.owner !== owner) return { acquired: false, ...there };
      const token = there?.token ?? Math.max(at.us, (lastTokens.get(org) ?? 0) + 1);
      lastTokens.set(org, Math.max(token, lastTokens.get(org) ?? 0));
      const lease = { owner, token, expiresAt: at.ms + leaseMs };
      held.set(nameOf(org, key), lease);
      return { acquired: true, ...lease };
    },
    renew: (org, { key, owner, leaseMs }, at) => {
      const lease = live(org, key, at.ms);
      if (lease?.owner !== owner) return false;
      lease.expiresAt = at.ms + leaseMs;
      return true;
    },
    release: (org, { key, owner }, at) =>
      live(org, key, at.ms)?.owner === owner && held.delete(nameOf(org, key)),
  };
}
