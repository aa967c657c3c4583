// The entries that analytics cover, and the store's refusals in the words of the request.
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';
import { GatewayError, invalidField } from '../../lib/errors.ts';
import type { LogFilter } from '../../store/request-log.ts';
import { callerOf } from '../kit/caller.ts';
import { readTime } from '../kit/time.ts';
import { type LogQuery, logSelection } from '../logs/filter.ts';
import type { AnalyticsDeps } from './deps.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A range of time is always given. */
export type TimedFilter = LogFilter & { readonly from: number; readonly until: number };

/** Whose entries, and which of them. */
export interface Selection {
  readonly scope: TenantScope;
  readonly filter: TimedFilter;
}

/**
 * A request's selection, with everything recorded so far readable.
 * @throws GatewayError validation_failed, naming the parameter.
 */
export async function selectionOf(deps: AnalyticsDeps, query: LogQuery, call: Call): Promise<Selection> {
  const given = { ...query, ...rangeOf(query, deps.now()) };
  const { scope, filter } = await logSelection(deps, callerOf(call), given);
  const { from, until } = filter;
  if (from === undefined) throw invalidField('time_of_generation_min', 'is needed', 'required');
  if (until === undefined) throw invalidField('time_of_generation_max', 'is needed', 'required');
  // A caller who reads after a call expects to find it.
  await deps.flush();
  return { scope, filter: { ...filter, from, until } };
}

/** The last day, or the day before the end that is given. */
function rangeOf(
  { timeOfGenerationMin: min, timeOfGenerationMax: max }: LogQuery,
  now: number,
): Pick<LogQuery, 'timeOfGenerationMin' | 'timeOfGenerationMax'> {
  const until = max || new Date(now).toISOString();
  if (min) return { timeOfGenerationMin: min, timeOfGenerationMax: until };
  const end = readTime('time_of_generation_max', until);
  return { timeOfGenerationMin: new Date(end - DAY_MS).toISOString(), timeOfGenerationMax: until };
}

/** Whether the store found a range to hold more than it can add up. */
export function isTooMuch(error: unknown): boolean {
  return (
    error instanceof GatewayError && error.reason === 'validation_failed' && error.details.param === 'until'
  );
}

/** The store's names of the conditions that it may find too broad, with the names in requests. */
const PARAMETERS: Readonly<Record<string, string>> = {
  until: 'time_of_generation_max',
  feedback: 'weighted_feedback_min',
};

/**
 * The store's answer; a refusal names the request's own parameter.
 * @param nameOf the request's name of a parameter of the store
 * @throws GatewayError
 */
export async function asked<T>(
  answer: Promise<T>,
  nameOf: (parameter: string) => string = (parameter) => parameter,
): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof GatewayError) || error.reason !== 'validation_failed') throw error;
    const [violation] = error.details.violations ?? [];
    const parameter = PARAMETERS[violation?.field ?? ''];
    if (violation === undefined || parameter === undefined) throw error;
    throw invalidField(nameOf(parameter), violation.message, violation.rule);
  }
}
