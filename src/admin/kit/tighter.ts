// Whether a lower level's value is as tight as a higher one's.
import { scheduleOf } from '../../ledger/limits/kept-limit.ts';
import { resetAfter } from '../../ledger/limits/period.ts';
import type { Json, JsonObject } from '../../store/collection.ts';

type IsAsTight = (given: Json | undefined, set: Json, at: number) => boolean;

/** The same value, of any type. */
export const same: IsAsTight = (given, set) => JSON.stringify(given) === JSON.stringify(set);

/** A number that is not above the other one. */
export const notAbove: IsAsTight = (given, set) => typeof given === 'number' && given <= Number(set);

/** A number, and not below. */
export const notBelow: IsAsTight = (given, set) => typeof given === 'number' && given >= Number(set);

/** A list with everything that was set. */
export const everyOne: IsAsTight = (given, set) => {
  const listed = new Set(listOf(given).map(textOf));
  return listOf(set).every((one) => listed.has(textOf(one)));
};

/** An object with every member that was set, as it was set. */
export const everyMember: IsAsTight = (given, set) => {
  const members = objectOf(given);
  return Object.entries(objectOf(set)).every(([name, value]) => textOf(members[name]) === textOf(value));
};

/** Usage limits, one or a list: for each that was set one of its type with no more credit and no earlier reset. */
export const usageLimits: IsAsTight = (given, set, at) => {
  const all = listOf(given).map(objectOf);
  return listOf(set)
    .map(objectOf)
    .every((limit) => all.some((one) => one.type === limit.type && isTighterUsage(one, limit, at)));
};

/** Rate limits: for each that was set one of its type and unit with no higher value. */
export const rateLimits: IsAsTight = (given, set) => {
  const all = listOf(given).map(objectOf);
  return listOf(set)
    .map(objectOf)
    .every(({ type, unit, value }) =>
      all.some((one) => one.type === type && one.unit === unit && Number(one.value) <= Number(value)),
    );
};

function isTighterUsage(given: JsonObject, set: JsonObject, at: number): boolean {
  const { credit_limit: credit, alert_threshold: alert } = set;
  const period = ({ periodic_reset: name, periodic_reset_days: days }: JsonObject): string =>
    textOf([name ?? null, days ?? null]);
  if (Number(given.credit_limit) > Number(credit) || period(given) !== period(set)) return false;
  if (alert !== undefined && alert !== null && !notAbove(given.alert_threshold, alert, at)) return false;
  const [next, earliest] = [resetAfter(scheduleOf(given), at), resetAfter(scheduleOf(set), at)];
  return next === undefined || (earliest !== undefined && next >= earliest);
}

function listOf(value: Json | undefined): readonly Json[] {
  return value === undefined || value === null ? [] : Array.isArray(value) ? (value as Json[]) : [value];
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function textOf(value: Json | undefined): string {
  return JSON.stringify(value) ?? '';
}
