// Targets that a caller stays with: what tells callers apart, and for how long.
import type { RoutingSticky } from '../../../gen/gateway/inference/v2/config_pb.ts';
import { pathOf } from './condition.ts';
import { type Fault, step } from './faults.ts';
import type { StickyField, StickyPlan } from './plan.ts';

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
    const [root, ...rest] = pathOf(name);
    const known = ROOTS.find((one) => one === root);
    if (known === undefined || rest.length === 0)
      faults.push({
        path: step(step(path, 'hash_fields'), i),
        message: 'must begin with metadata., params. or headers.',
      });
    else fields.push({ root: known, path: known === 'headers' ? [rest.join('.').toLowerCase()] : rest });
  }
  if (sticky.enabled !== true) return undefined;
  return { fields, ttlMs: Math.ceil((sticky.ttl ?? DEFAULT_TTL_SECONDS) * 1000) };
}
