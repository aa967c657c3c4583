// The texts within JSON.

/** A text and how it is changed. */
export interface Leaf {
  readonly text: string;
  put(text: string): void;
}

/** Every text in a JSON value, at any depth. */
export function stringsIn(root: object): Leaf[] {
  const found: Leaf[] = [];
  const open: object[] = [root];
  for (let holder = open.pop(); holder !== undefined; holder = open.pop()) {
    const owner = holder;
    for (const [key, value] of Object.entries(owner)) {
      if (typeof value === 'object' && value !== null) open.push(value);
      if (typeof value !== 'string') continue;
      // Defined and not assigned: a member may be called __proto__.
      const put = (text: string) =>
        Object.defineProperty(owner, key, {
          value: text,
          enumerable: true,
          writable: true,
          configurable: true,
        });
      found.push({ text: value, put });
    }
  }
  return found;
}
