// Targets that a caller stays with: what tells callers apart, and for how long.
import type { RoutingAffinity, RoutingSticky } from '../../../gen/gateway/inference/v2/config_pb.ts';
import { pathOf } from './condition.ts';
import { type Fault, step } from './faults.ts';
import type { AffinityPlan, StickyField, StickyPlan } from './plan.ts';

const DEFAULT_TTL_SECONDS = 3600;
const ROOTS = ['metadata', 'params', 'headers'] as const;

/** The setting; undefined when there is none or it is off. */
export function readSticky(
  sticky: RoutingSticky | undefined,
  path: string,
  faults: Fault[],
): StickyPlan | undefined {
  if (sticky === undefined) return undefined;
  const fields: StickyField[] = [];
  for (const [i, name] of sticky.hashFields.entries()) {
    const field = readField(name, step(step(path, 'hash_fields'), i), faults);
    if (field !== undefined) fields.push(field);
  }
  if (sticky.enabled !== true) return undefined;
  return { fields, ttlMs: Math.ceil((sticky.ttl ?? DEFAULT_TTL_SECONDS) * 1000) };
}

/** The setting; undefined when there is none or it is off. */
export function readAffinity(
  affinity: RoutingAffinity | undefined,
  path: string,
  faults: Fault[],
): AffinityPlan | undefined {
  if (affinity === undefined) return undefined;
  const { key, ttl, minTokens } = affinity;
  const field = key === undefined ? undefined : readField(key, step(path, 'key'), faults);
  if (affinity.enabled !== true) return undefined;
  return { field, ttlMs: ttl === undefined ? undefined : Math.ceil(ttl * 1000), minTokens };
}

function readField(name: string, path: string, faults: Fault[]): StickyField | undefined {
  const [root, ...rest] = pathOf(name);
  const known = ROOTS.find((one) => one === root);
  if (known !== undefined && rest.length > 0)
    return { root: known, path: known === 'headers' ? [rest.join('.').toLowerCase()] : rest };
  faults.push({ path, message: 'must begin with metadata., params. or headers.' });
  return undefined;
}
