// The gateway's clock: the browser's may be wrong, and times of entries are the gateway's.

/** Between what the browser's clock may lack, in milliseconds, as far as answers have told. */
let bounds = { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY };

/** The date of an answer is cut to seconds. */
const SECOND_MS = 1000;

/** Takes the date of an answer, as HTTP has it. @param asked when it was asked for, by the browser's clock */
export function hear(date: string | null, asked: number): void {
  const told = date === null ? Number.NaN : Date.parse(date);
  if (Number.isNaN(told)) return;
  const here = { least: told - Date.now(), most: told + SECOND_MS - asked };
  const both = { least: Math.max(bounds.least, here.least), most: Math.min(bounds.most, here.most) };
  // A clock that was set meanwhile begins anew.
  bounds = both.least <= both.most ? both : here;
}

/** Whether the browser's clock may be right. */
function isRight(): boolean {
  return bounds.least <= 0 && bounds.most >= 0;
}

/** Unix milliseconds, by the gateway's clock; rather too early, by what an answer took. */
export function now(): number {
  return Date.now() + (isRight() ? 0 : bounds.least);
}

/** As `now`, rather too late: an end that nothing made until now is after. */
export function latest(): number {
  return Date.now() + (isRight() ? 0 : bounds.most);
}
