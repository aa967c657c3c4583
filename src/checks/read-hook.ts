// One hook of a config, in the full or the short form.
import { alias, anything, flag, group, object, oneOf, text } from './contract/fields.ts';
import {
  type Fault,
  type Field,
  isObject,
  type Parameters,
  readParameters,
  step,
  takes,
} from './contract/parameters.ts';
import type { Feedback, Hook, HookCheck, PathFault, Place } from './hook.ts';
import { markHook } from './hook-mark.ts';
import { type CheckDefaults, readCheck } from './read-check.ts';
import { findCheck } from './registry.ts';
import type { JsonObject } from './view/traffic.ts';

/** Checks of one hook at the most. */
export const MOST_CHECKS = 20;

const number = (fallback: number, min: number, max: number): Field<number> => ({
  required: false,
  fallback,
  secret: false,
  aliases: [],
  read(value, path, fault) {
    if (typeof value === 'number' && value >= min && value <= max) return value;
    fault(path, `must be a number from ${min} to ${max}`);
    return undefined;
  },
});

const emptyOr = (field: Field<JsonObject | undefined>): Field<JsonObject> => ({
  ...field,
  fallback: {},
  // Stored guardrails hold a text, empty as a rule, where there is no metadata.
  read: (value, path, fault) => (typeof value === 'string' ? {} : field.read(value, path, fault)),
});

/** Feedback; what is missing has the published defaults. */
const outcome = (value: number) =>
  group({
    feedback: group({
      value: number(value, -10, 10),
      weight: number(1, 0, 1),
      metadata: emptyOr(object(10_000)),
    }),
  });

/** Settings of a hook. In the short form every other key is a check. */
const SETTINGS = {
  id: text(200),
  name: text(1000),
  type: oneOf(['guardrail', 'mutator']),
  deny: flag(),
  /** Deny, but answer 200 with a reply that says so. */
  softDeny: alias(flag(), 'softDeny200', 'soft_deny_200'),
  async: flag(),
  sequential: flag(),
  onSuccess: outcome(5),
  onFail: outcome(-5),
  /** What an error of a check counts as; unsaid, each check's own default. */
  onError: oneOf(['pass', 'fail']),
  /** What the checks examine: `last` by default, `all` where every call passes the hook. */
  scope: oneOf(['last', 'user', 'all']),
  guardrailVersionId: text(200),
};

const FULL_ENTRY = {
  id: text(200),
  name: anything(),
  parameters: anything(),
  isEnabled: anything(),
};

/**
 * Reads a hook.
 * @param index where it stands in its list; a hook without an id is named after it
 * @returns undefined when faults were added
 */
export function readHook(
  value: unknown,
  path: string,
  index: number,
  place: Place,
  faults: PathFault[],
): Hook | undefined {
  const before = faults.length;
  const fault: Fault = (at, message) => faults.push({ path: at, message });
  if (!isObject(value)) {
    fault(path, place.short ? 'must be the name of a guardrail or an object' : 'must be an object');
    return undefined;
  }
  // A hook in the full form is known by its list of checks, wherever it stands.
  const short = place.short && !Array.isArray(value.checks);
  const { checks: list, ...rest } = value;
  const known = Object.entries(short ? value : rest).filter(([key]) => !short || takes(SETTINGS, key));
  const settings = readParameters(SETTINGS, Object.fromEntries(known), path, fault);
  const defaults: CheckDefaults = {
    event: place.event,
    scope: settings?.scope ?? (place.mandatory ? 'all' : 'last'),
    onError: settings?.onError,
    deny: settings?.deny === true || settings?.softDeny === true,
  };
  const checks = short ? readShort(value, path, defaults, fault) : readFull(list, path, defaults, fault);
  if (settings === undefined || faults.length > before) return undefined;
  const hook: Hook = {
    id: settings.id ?? `${place.name}_${index + 1}`,
    type: settings.type ?? place.type,
    event: place.event,
    checks,
    deny: settings.deny || settings.softDeny,
    softDeny: settings.softDeny,
    async: settings.async,
    sequential: settings.sequential,
    onSuccess: feedbackOf(settings.onSuccess),
    onFail: feedbackOf(settings.onFail),
    versionId: settings.guardrailVersionId,
    mandatory: place.mandatory ?? false,
  };
  return markHook(hook, value);
}

function feedbackOf(found: Parameters<typeof SETTINGS>['onFail']): Feedback | undefined {
  return found?.feedback;
}

function readShort(hook: JsonObject, path: string, defaults: CheckDefaults, fault: Fault): HookCheck[] {
  const entries = Object.entries(hook).filter(([key]) => !takes(SETTINGS, key));
  if (entries.length === 0) fault(path, 'holds no check');
  if (tooMany(entries.length, path, fault)) return [];
  return entries.flatMap(([key, value]) => {
    const at = step(path, key);
    if (!isObject(value)) {
      fault(
        at,
        findCheck(key)
          ? 'must be an object with the parameters of the check'
          : 'is neither a setting nor a check',
      );
      return [];
    }
    // The id inside names the check where one is used twice under keys of its own.
    const inner = typeof value.id === 'string' && findCheck(value.id) !== undefined ? value.id : key;
    return readCheck(inner, at, value, at, defaults, fault);
  });
}

function readFull(list: unknown, path: string, defaults: CheckDefaults, fault: Fault): HookCheck[] {
  const at = step(path, 'checks');
  if (!Array.isArray(list) || list.length === 0) {
    fault(at, 'must be a list of at least one check');
    return [];
  }
  if (tooMany(list.length, at, fault)) return [];
  return list.flatMap((item: unknown, index) => {
    const here = step(at, index);
    if (!isObject(item)) {
      fault(here, 'must be an object');
      return [];
    }
    const entry = readParameters(FULL_ENTRY, item, here, fault);
    if (entry === undefined) return [];
    if (entry.id === undefined) fault(step(here, 'id'), 'is required');
    const given = entry.parameters ?? {};
    if (!isObject(given)) fault(step(here, 'parameters'), 'must be an object');
    if (entry.id === undefined || !isObject(given)) return [];
    const { id: _, ...parameters } = given;
    const value = entry.isEnabled === undefined ? parameters : { ...parameters, isEnabled: entry.isEnabled };
    return readCheck(entry.id, step(here, 'id'), value, step(here, 'parameters'), defaults, fault);
  });
}

function tooMany(length: number, path: string, fault: Fault): boolean {
  if (length > MOST_CHECKS) fault(path, `has at most ${MOST_CHECKS} checks`);
  return length > MOST_CHECKS;
}
