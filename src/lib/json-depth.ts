// How deep a message nests: what writes JSON, and what reads schemas, does it level by level on the stack.
const MOST_LEVELS = 500;

/** Whether a parsed value has lists and objects in more than 500 levels. */
export function isTooDeep(value: unknown): boolean {
  let level: object[] = typeof value === 'object' && value !== null ? [value] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) return true;
    const next: object[] = [];
    for (const one of level)
      for (const inner of Array.isArray(one) ? one : Object.values(one))
        if (typeof inner === 'object' && inner !== null) next.push(inner);
    level = next;
  }
  return false;
}
