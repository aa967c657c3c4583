// Whether a value fits what is wanted of it: one of several, parts of it, or a pattern.
import type { JobOwner, Sandbox } from '../sandbox/sandbox.ts';
import { required, texts } from './fields.ts';
import { type Fault, type Field, step } from './parameters.ts';
import { requirePattern } from './pattern.ts';

/** exact: is one of them; contains: holds one; containsAll: holds each; regex: fits one pattern. */
export const MATCH_TYPES = ['exact', 'contains', 'containsAll', 'regex'] as const;
export type MatchType = (typeof MATCH_TYPES)[number];

/** One text, or several. Commas are part of a text here: it may be a pattern. */
export const valuesField: Field<readonly string[]> = {
  ...required(texts()),
  read: (value, path, fault) => texts().read(typeof value === 'string' ? [value] : value, path, fault),
};

/**
 * Judges a value, which may be several (a claim that is a list).
 * @throws CheckFailure of the sandbox
 */
export async function fitsValues(
  actual: readonly string[],
  wanted: readonly string[],
  matchType: MatchType,
  sandbox: Sandbox,
  owner: JobOwner,
): Promise<boolean> {
  const holds = (part: string) => actual.some((value) => value.includes(part));
  switch (matchType) {
    case 'exact':
      return wanted.some((value) => actual.includes(value));
    case 'contains':
      return wanted.some(holds);
    case 'containsAll':
      return wanted.every(holds);
    case 'regex':
      for (const source of wanted) {
        const matches = await sandbox.match(owner, { source, flags: '' }, actual);
        if (matches.some((match) => match !== null)) return true;
      }
      return false;
  }
}

/** Notes patterns that cannot be read. */
export function requireValues(
  wanted: readonly string[],
  matchType: MatchType,
  path: string,
  fault: Fault,
): void {
  if (matchType !== 'regex') return;
  for (const [index, source] of wanted.entries())
    requirePattern({ source, flags: '' }, step(path, index), fault);
}
