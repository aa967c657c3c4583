// Numbers and times as they are shown.
import { now } from './clock.ts';

/** A whole number of 1e-12 dollars, to its last digit. */
export function dollars(exact: string | undefined): string {
  if (exact === undefined || exact === '') return '';
  const minus = exact.startsWith('-') ? '-' : '';
  const digits = exact.replace('-', '').padStart(13, '0');
  const fraction = digits.slice(-12).replace(/0+$/, '');
  return `${minus}$${digits.slice(0, -12)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Milliseconds. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return '';
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

export function whole(count: bigint | number | undefined): string {
  return count === undefined ? '' : count.toLocaleString('en-US');
}

export function bytes(length: number): string {
  if (length < 1024) return `${length} B`;
  return length < 1024 * 1024 ? `${Math.round(length / 1024)} KB` : `${(length / 1024 / 1024).toFixed(1)} MB`;
}

/** The day and the time to the second, as the reader's clock has it. */
export function moment(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleString('sv-SE');
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time of the address: ISO 8601, or so long ago, e.g. `1h`. */
export function timeOf(text: string | null): string | undefined {
  if (text === null || text === '') return undefined;
  const ago = /^(\d{1,4})([mhd])$/.exec(text);
  if (ago === null) return Number.isNaN(Date.parse(text)) ? undefined : new Date(text).toISOString();
  return new Date(now() - Number(ago[1]) * (UNITS[ago[2] ?? 'h'] ?? 0)).toISOString();
}
