// A config's JSON into a plan, or everything that is wrong with it.
import { createHash } from 'node:crypto';
import { fail, type GatewayError } from '../../lib/errors.ts';
import { PlanBuilder } from './build-plan.ts';
import type { Fault } from './faults.ts';
import { NOTHING } from './inherited.ts';
import type { ParseDeps } from './parse-deps.ts';
import { maxAttemptsOf, type WholePlan, wholePlan } from './plan.ts';
import { readConfig } from './read-config.ts';

/** Calls to providers that one request may become at the most. */
const MOST_ATTEMPTS = 1000;
/** Faults that are told one by one. */
const MOST_FAULTS = 200;

/** What became of a config. */
export type ParsedConfig =
  | { readonly plan: WholePlan; readonly faults?: undefined }
  | { readonly plan?: undefined; readonly faults: readonly Fault[] };

/** Reads a config: its plan, or every fault with its path. @param slug the config's own, so that none refers to itself */
export function parseConfig(json: unknown, deps: ParseDeps, slug?: string): ParsedConfig {
  const faults: Fault[] = [];
  const root = new PlanBuilder(deps, faults).build(
    readConfig(json, '', faults),
    NOTHING,
    slug === undefined ? [] : [slug],
  );
  const maxAttempts = root === undefined ? 0 : maxAttemptsOf(root);
  if (maxAttempts > MOST_ATTEMPTS)
    faults.push({ path: 'targets', message: `one request could become more than ${MOST_ATTEMPTS} calls` });
  if (root === undefined || faults.length > 0) {
    faults.sort((a, b) => (a.path < b.path ? -1 : 1));
    const more = faults.length - MOST_FAULTS;
    if (more > 0) faults.splice(MOST_FAULTS, more, { path: 'config', message: `has ${more} further faults` });
    return { faults: faults.length > 0 ? faults : [{ path: 'config', message: 'cannot be read' }] };
  }
  const id = createHash('sha256').update(JSON.stringify(json)).digest('hex').slice(0, 32);
  return { plan: wholePlan(root, id) };
}

/** The error of a config with faults. */
export function configInvalid(faults: readonly Fault[]): GatewayError {
  const [first] = faults;
  const text = faults.map(({ path, message }) => `${path}: ${message}`).join('; ');
  const reason = faults.length === 1 && first?.reason !== undefined ? first.reason : 'config_invalid';
  return fail(reason, `invalid config: ${text.length > 4000 ? `${text.slice(0, 4000)} ...` : text}`, {
    param: first?.path ?? 'config',
    violations: faults.map(({ path, message }) => ({ field: path, rule: 'config', message })),
  });
}
