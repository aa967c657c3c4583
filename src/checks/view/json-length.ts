// About how long JSON is as text, without writing it.

/** Values of what a model is told: the tools of the largest applications have a third of them. */
const MOST_VALUES = 50_000;

/** Whether its names, texts and values are more than so many characters, or are too many. */
export function isLongerThan(root: object, most: number): boolean {
  let length = 0;
  let values = 0;
  const open: unknown[] = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') length += value.length;
    else if (typeof value === 'object' && value !== null) {
      const members = Array.isArray(value) ? value : Object.values(value);
      values += members.length;
      if (values > MOST_VALUES) return true;
      if (!Array.isArray(value)) for (const name in value) length += name.length;
      for (const member of members) open.push(member);
    }
    if (length > most) return true;
  }
  return false;
}
