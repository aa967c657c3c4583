// One check of a hook: what all checks take is read here, what is its own by the check.
import type { Scope } from './contract/check.ts';
import { anything, count, flag, maybeFlag, oneOf } from './contract/fields.ts';
import { type Fault, readParameters, takes } from './contract/parameters.ts';
import type { HookCheck, OnError } from './hook.ts';
import { findCheck, nearChecks } from './registry.ts';
import type { Event, JsonObject } from './view/traffic.ts';

/** A hook's defaults for all of its checks. */
export interface CheckDefaults {
  readonly event: Event;
  readonly scope: Scope;
  /** Undefined leaves it to the check. */
  readonly onError: OnError | undefined;
  readonly deny: boolean;
}

const LONGEST_TIMEOUT_MS = 60_000;

/** What every check takes in addition to its own parameters. */
const SHARED = {
  id: anything(),
  name: anything(),
  isEnabled: flag(true),
  /** An error of the check counts as a failed verdict. */
  failOnError: maybeFlag(),
  /** The same in words; `failOnError` goes before it. */
  onError: oneOf(['pass', 'fail']),
  /** In milliseconds. */
  timeout: count(1, LONGEST_TIMEOUT_MS),
  /** The last message, the user's messages or the whole conversation. */
  scope: oneOf(['last', 'user', 'all']),
  /** Whether tool calls and reasoning count as text. */
  includeToolCalls: maybeFlag(),
};

/**
 * Reads a check.
 * @param idAt where its id stands; @param path where its parameters stand
 * @returns none when it is switched off (its parameters are read all the same) or at fault
 */
export function readCheck(
  id: string,
  idAt: string,
  value: JsonObject,
  path: string,
  defaults: CheckDefaults,
  fault: Fault,
): HookCheck[] {
  const check = findCheck(id);
  if (check === undefined) {
    fault(idAt, `there is no check called ${JSON.stringify(id.slice(0, 100))}${nearChecks(id)}`);
    return [];
  }
  if (!check.events.includes(defaults.event)) fault(idAt, `${check.id} cannot run on the ${defaults.event}`);
  const isShared = ([key]: [string, unknown]) => takes(SHARED, key) && !takes(check.fields, key);
  const entries = Object.entries(value);
  const shared = readParameters(SHARED, Object.fromEntries(entries.filter(isShared)), path, fault);
  const own = Object.fromEntries(entries.filter((entry) => !isShared(entry)));
  const bound = check.bind(own, path, fault);
  if (bound === undefined || shared === undefined || !shared.isEnabled) return [];
  const { failOnError, scope, includeToolCalls, timeout } = shared;
  const forItself = failOnError === undefined ? shared.onError : failOnError ? 'fail' : 'pass';
  const configured = forItself ?? defaults.onError;
  return [
    {
      id: check.id,
      bound,
      rewrites: check.rewrites,
      scope: scope ?? defaults.scope,
      beside: includeToolCalls,
      asks: check.asks,
      onError: {
        default: configured ?? check.onError,
        closed: configured === undefined && (defaults.deny || (check.rewrites && !check.asks)),
      },
      timeoutMs: timeout ?? check.timeoutMs,
    },
  ];
}
