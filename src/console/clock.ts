// The gateway's clock: the browser's may be wrong, and times of entries are the gateway's.

/** What the browser's clock lacks, in milliseconds. */
let lack = 0;
/** Less than that is the way of the answer, and the seconds that its date is rounded to. */
const TOLERATED_MS = 5000;

/** Takes the date of an answer, as HTTP has it. */
export function hear(date: string | null): void {
  const told = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(told)) return;
  const found = told - Date.now();
  lack = Math.abs(found) > TOLERATED_MS ? found : 0;
}

/** Unix milliseconds. */
export function now(): number {
  return Date.now() + lack;
}
