// The options that commands share, as the parser gives them.
import type { Remote } from './client.ts';
import type { Run } from './program.ts';

export type Options = Parameters<Run>[1];

/** Which gateway is asked, and whether for JSON. */
export function remoteOf({ url, key, dataDir, json }: Options): Remote & { readonly json: boolean } {
  return { json: json === true, ...optional({ url, key, dataDir }) };
}

/** The texts among some options. */
export function optional(options: Options): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
