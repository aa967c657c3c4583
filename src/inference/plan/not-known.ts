// The fault of a member that there is not.
import { theNearest } from '../../lib/nearest-names.ts';
import type { Fault } from './faults.ts';

/** Comparing words takes time: only the first faults name others. */
const MOST = 10;

/** In words, with the nearest of the members that there are. */
export function notKnown(name: string, names: () => Iterable<string>, faults: readonly Fault[]): string {
  return `is not known${faults.length < MOST ? theNearest(name, names()) : ''}`;
}
