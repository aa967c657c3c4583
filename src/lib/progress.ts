// How far long work is, told every few seconds.

const EVERY_MS = 5000;

/** Tells lines such as `roll-ups: 20 of 80, about 12 s left`. @param total absent: it is not known */
export function progressOf(
  what: string,
  say: (line: string) => void,
  total?: number,
  now: () => number = () => performance.now(),
): (done: number) => void {
  const began = now();
  let told = began;
  return (done) => {
    const at = now();
    if (at - told < EVERY_MS) return;
    told = at;
    if (total === undefined) return say(`${what}: ${done} so far`);
    const left = done === 0 ? undefined : ((at - began) / done) * (total - done);
    say(`${what}: ${done} of ${total}${left === undefined ? '' : `, about ${spanOf(left)} left`}`);
  };
}

function spanOf(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}
