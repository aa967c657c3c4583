// Whether an answer is what was counted: exact but for the last digits of means, and percentiles off histograms.
import { Percentile } from './recount.ts';

/** Where two values differ, as paths with both of them. */
export function differences(actual: unknown, expected: unknown, at = ''): string[] {
  if (expected instanceof Percentile)
    return expected.accepts(actual) ? [] : [`${at}: ${actual} is not within 1 % of ${expected.exact}`];
  if (typeof expected === 'number' && typeof actual === 'number' && !Number.isInteger(expected))
    return Math.abs(actual - expected) <= Math.abs(expected) * 1e-9
      ? []
      : [`${at}: ${actual}, not ${expected}`];
  if (Array.isArray(expected) && Array.isArray(actual))
    return [
      ...(actual.length === expected.length
        ? []
        : [`${at}: ${actual.length} of ${expected.length} elements`]),
      ...expected.flatMap((value, i) => differences(actual[i], value, `${at}[${i}]`)),
    ];
  if (isRecord(expected) && isRecord(actual))
    return [...new Set([...Object.keys(expected), ...Object.keys(actual)])].flatMap((name) =>
      differences(actual[name], expected[name], `${at}.${name}`),
    );
  return Object.is(actual, expected) || actual === expected
    ? []
    : [`${at}: ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
