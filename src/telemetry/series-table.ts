// Series by their labels, found by maps within maps: no key is put together on the way of a call. Bounded: labels
// that would make one too many are counted under "other".

/** The label value for all values without their own series. */
export const OTHER = 'other';

/** The labels of a series. */
export interface SeriesLabels {
  /** The contract's full name of the method. */
  readonly operation: string;
  /** The catalogue's id; empty where none was selected. */
  readonly provider: string;
  /** A model that is known, OTHER, or empty where there was none. */
  readonly model: string;
  /** Why an attempt failed: the provider's status, or the error's reason; empty where nothing did. */
  readonly error: string;
}

type Level<T> = Map<string, T>;

export class SeriesTable<T> {
  readonly #make: (labels: SeriesLabels) => T;
  readonly #most: number;
  readonly #all: Level<Level<Level<Level<T>>>> = new Map();
  readonly #series: T[] = [];

  constructor(make: (labels: SeriesLabels) => T, most: number) {
    this.#make = make;
    this.#most = most;
  }

  /** The series of these labels; beyond the bound the one of the operation's others. */
  at(operation: string, provider: string, model: string, error: string): T {
    const found = this.#all.get(operation)?.get(provider)?.get(model)?.get(error);
    if (found !== undefined) return found;
    if (this.#series.length < this.#most) return this.#add(operation, provider, model, error);
    // Operations are the contract's: what is above the bound by them is bounded too.
    const other = this.#all.get(operation)?.get(OTHER)?.get(OTHER)?.get(OTHER);
    return other ?? this.#add(operation, OTHER, OTHER, OTHER);
  }

  all(): readonly T[] {
    return this.#series;
  }

  #add(operation: string, provider: string, model: string, error: string): T {
    const series = this.#make({ operation, provider, model, error });
    within(within(within(this.#all, operation), provider), model).set(error, series);
    this.#series.push(series);
    return series;
  }
}

function within<T>(level: Level<Level<T>>, key: string): Level<T> {
  let inner = level.get(key);
  if (inner === undefined) {
    inner = new Map();
    level.set(key, inner);
  }
  return inner;
}
