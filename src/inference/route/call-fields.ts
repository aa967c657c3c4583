// What tells one call from others: its headers, its metadata and its parameters.
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import { memberAt } from '../plan/condition.ts';
import type { StickyField, WholePlan } from '../plan/plan.ts';

/** What tells one call's caller from others. */
export interface StickyInput {
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly plan: WholePlan;
  readonly headers: GatewayHeaders;
  readonly metadata: () => unknown;
  readonly params: () => unknown;
}

/** The value of a field; undefined when the call has none. */
export function fieldValue({ root, path }: StickyField, { headers, metadata, params }: StickyInput): unknown {
  if (root === 'headers') return headers.plain(path[0]!);
  return memberAt(root === 'metadata' ? metadata() : params(), path);
}
