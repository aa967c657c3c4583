// Claims of a token that a guardrail verified, among the headers that go on to the provider.
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { readForwardNames } from '../plan/request-settings.ts';

/**
 * The target with claims in the place of what the caller sent under their names, where these names go on.
 * @param claims by lower-case name; an empty one is one that the token lacks: the caller may not say it either
 */
export function withClaims(
  bound: BoundTarget,
  claims: Readonly<Record<string, string>>,
  headers: GatewayHeaders,
): BoundTarget {
  if (Object.keys(claims).length === 0) return bound;
  const { forwarded, stored, plan } = bound;
  const names = [...readForwardNames(headers), ...plan.forwardHeaders];
  const verified = names.flatMap((name) => {
    const claim = Object.hasOwn(claims, name.toLowerCase()) ? claims[name.toLowerCase()] : undefined;
    return claim ? [name, claim] : [];
  });
  // The operator's come after the caller's, and stay.
  const own = forwarded.length - (stored?.headers.length ?? 0);
  const others = forwarded.filter((_, i) => {
    const name = forwarded[i - (i % 2)]!.toLowerCase();
    return i >= own || !Object.hasOwn(claims, name);
  });
  return { ...bound, forwarded: [...verified, ...others] };
}
