// US dollars as whole numbers of 1e-12, and back.

/** Units of one US dollar. */
export const PER_DOLLAR = 1_000_000_000_000n;

/** US dollars as written, in 1e-12 USD; what is finer is left out. @param dollars not negative */
export function dollarsOf(dollars: number): bigint {
  const [digits = '', exponent = '0'] = dollars.toExponential().split('e');
  const [whole = '', part = ''] = digits.split('.');
  const shift = Number(exponent) - part.length + 12;
  const all = BigInt(whole + part);
  return shift >= 0 ? all * 10n ** BigInt(shift) : all / 10n ** BigInt(-shift);
}

/** US dollars of 1e-12 USD, as the nearest number to the exact decimal. */
export function inDollars(amount: bigint): number {
  if (amount < 0n) return -inDollars(-amount);
  const digits = amount.toString().padStart(13, '0');
  return Number(`${digits.slice(0, -12)}.${digits.slice(-12)}`);
}
