// The request log's facets: the values that entries have in some fields, counted in one go, for every adapter.
import { invalidField } from '../../lib/errors.ts';
import { checkInteger } from '../document-checks.ts';
import type { LogDimension } from './aggregation.ts';
import { checkDimension } from './aggregation-checks.ts';

/** What is counted. */
export interface LogFacetsQuestion {
  /** The fields; at most 16. */
  readonly by: readonly LogDimension[];
  /** Values of each field: the most frequent ones. */
  readonly take: number;
  /** Names of metadata at the most, those of the newest entries first. */
  readonly names: number;
}

/** The values of a field. */
export interface LogFacetValues {
  /** Most requests first, equal ones by value; entries without a value, or with '', are not counted. */
  readonly values: readonly { readonly value: string; readonly requests: number }[];
  /**
   * Absent: all entries are counted. Else the store's time was over: the entries from this time on (Unix milliseconds)
   * are counted, and of older ones an unknown share.
   */
  readonly countedFrom?: number;
}

export interface LogFacets {
  /** In the order of `by`. */
  readonly facets: readonly LogFacetValues[];
  /** Names of metadata of the entries that were read, in order. */
  readonly metadataNames: readonly string[];
}

const MOST_FIELDS = 16;

/** The question with known members only. Throws `validation_failed` naming the member. */
export function checkFacets({ by, take, names }: LogFacetsQuestion): LogFacetsQuestion {
  if (!Array.isArray(by) || by.length > MOST_FIELDS)
    throw invalidField('by', `must be a list of ${MOST_FIELDS} dimensions at most`, 'max_items');
  return {
    by: by.map((dimension) => checkDimension('by', dimension)),
    take: checkInteger('take', take, 0),
    names: checkInteger('names', names, 0),
  };
}

type Counted = LogFacetValues['values'][number];

/** The most frequent of counted values. There may be very many: only those that may be among them are put in order. */
export function mostFrequent(counts: ReadonlyMap<string, number>, take: number): LogFacetValues['values'] {
  const best: Counted[] = [];
  for (const [value, requests] of counts) {
    const own = { value, requests };
    const last = best[take - 1];
    if (value === '' || take === 0 || (last !== undefined && comesBefore(last, own))) continue;
    const at = best.findIndex((other) => comesBefore(own, other));
    best.splice(at < 0 ? best.length : at, 0, own);
    best.length = Math.min(best.length, take);
  }
  return best;
}

function comesBefore(a: Counted, b: Counted): boolean {
  return a.requests > b.requests || (a.requests === b.requests && a.value < b.value);
}
