// JSON out of texts that callers and providers wrote: what messages and lines of exports can hold.

/** Readers of Protobuf give up at 100 messages within each other, and an object within another one is three. */
const MAX_DEPTH = 30;

/**
 * The value of a JSON text; undefined for what is none, is nested deeper than clients can read, or has a number that is
 * not finite: who shows it shows its text.
 */
export function loggedJson(text: string): unknown {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isModest(json) ? json : undefined;
}

/** Level by level: what is nested deeply would exhaust the stack. */
function isModest(json: unknown): boolean {
  let level: unknown[] = [json];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false;
    const below: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'number' && !Number.isFinite(value)) return false;
      if (typeof value === 'object' && value !== null)
        for (const inner of Object.values(value)) below.push(inner);
    }
    level = below;
  }
  return true;
}
