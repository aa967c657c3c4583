// What is wrong with a config, all of it, each with its path.

/** One fault and where it is, e.g. `targets[1].weight`. */
export interface Fault {
  path: string;
  message: string;
  /** What it is called when it is the only one; config_invalid by default. */
  reason?: 'host_refused';
}

/** A path's next step. */
export function step(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** A caller's text within a message: short, and nothing but printable ASCII. */
export function clip(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 64);
}

/** A member's name in snake_case. */
export function snake(name: string): string {
  return /[A-Z]/.test(name) ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name;
}

/** Whether a value is an object of JSON. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
