// Money as a column: numbers where these are exact, the rest in a list of its own.
import type { LargeMoney } from './segment-head.ts';

/** Up to here a column's number is exact, and the sum of two of them is. */
export const MONEY_EXACT = 2 ** 52;

/** Takes the amounts of rows. */
export class MoneyColumn {
  readonly values: Float64Array;
  readonly #large: [number, string][] = [];

  constructor(rows: number) {
    this.values = new Float64Array(rows);
  }

  set(row: number, amount: string): void {
    const value = amount.length <= 16 ? Number(amount) : Number.NaN;
    if (value >= 0 && value <= MONEY_EXACT && Number.isInteger(value)) this.values[row] = value;
    else this.#large.push([row, amount]);
  }

  setExact(row: number, amount: bigint): void {
    this.set(row, String(amount));
  }

  /** What did not fit, by the rows' new places. */
  large(placeOf: Uint16Array): LargeMoney {
    return this.#large.map(([row, amount]) => [placeOf[row] as number, amount]);
  }
}

/** An amount as it is stored; anything but a whole number counts as 0. */
export function amountOf(text: string): bigint {
  try {
    return BigInt(text);
  } catch {
    return 0n;
  }
}
