// Credentials within JSON that callers wrote: never shown again as a whole. The masked form may be sent back
// and stands for the credential, so that a caller who reads, changes a little and writes needs to know none.
import type { Json, JsonObject } from '../../store/collection.ts';

/** Names, in snake case, of members whose texts are credentials. */
const SECRET =
  /(?:^|_)(?:api_key|secret|secret_access_key|password|passphrase|private_key|authorization|token|credentials|service_account_json)$|_client_secret|_private_key|_passphrase/;
/** Members of the caller's own request, which are no credentials. */
export const OPEN_MEMBERS: ReadonlySet<string> = new Set([
  'override_params',
  'default_params',
  'conditions',
  'metadata',
  'schema',
]);
/** Headers that say nothing secret. */
const OPEN_HEADERS = new Set(['content-type', 'accept', 'user-agent', 'accept-encoding', 'accept-language']);
const MASK = '******';
/** Names, in snake case, that say where calls go. */
const ADDRESS = /(?:host|url|uri|endpoint|resource_name)$/;

/** The fault of a masked credential that was sent back. */
export interface MaskFault {
  readonly path: string;
  readonly message: string;
}

/** The JSON as it is shown. */
export function masked(json: JsonObject): JsonObject {
  return walk(json, (text) => maskOf(text)) as JsonObject;
}

/**
 * The JSON with its masked credentials restored. A caller who may change a config may not know its credentials:
 * with a new address they must be given again, or they could be stolen by sending them there.
 * @param before the JSON with the credentials that the masks stand for; undefined: there is none
 * @param faults masks without a credential are added, each with its path
 */
export function unmasked(json: JsonObject, before: JsonObject | undefined, faults: MaskFault[]): JsonObject {
  const byPath = new Map<string, string>();
  const byMask = new Map<string, Set<string>>();
  if (before !== undefined)
    walk(before, (text, path) => {
      byPath.set(path, text);
      byMask.set(maskOf(text), (byMask.get(maskOf(text)) ?? new Set()).add(text));
      return text;
    });
  const known = addressesIn(before ?? {});
  const isElsewhere = [...addressesIn(json)].some((address) => !known.has(address));
  return walk(json, (text, path) => {
    if (!text.includes(MASK)) return text;
    if (isElsewhere) {
      faults.push({ path, message: 'is masked: give the whole credential, for there is a new address' });
      return text;
    }
    const here = byPath.get(path);
    if (here !== undefined && maskOf(here) === text) return here;
    const meant = [...(byMask.get(text) ?? [])];
    if (meant.length === 1) return meant[0]!;
    faults.push({ path, message: 'is masked: give the whole credential' });
    return text;
  }) as JsonObject;
}

/** The first and last characters of a text that is long enough. */
export function maskOf(text: string): string {
  return text.length < 16 ? MASK : `${text.slice(0, 3)}${MASK}${text.slice(-4)}`;
}

/** All members that decide where calls go. */
function addressesIn(json: Json, name = '', found = new Set<string>()): Set<string> {
  if (typeof json === 'string') {
    if (/^https?:/i.test(json) || ADDRESS.test(snakeOf(name))) found.add(json);
  } else if (Array.isArray(json)) for (const item of json as Json[]) addressesIn(item, name, found);
  else if (typeof json === 'object' && json !== null)
    for (const [key, item] of Object.entries(json as JsonObject)) addressesIn(item, key, found);
  return found;
}

/** Whether a member of this name, in any spelling, holds a credential. */
export function isSecretMember(name: string): boolean {
  return SECRET.test(snakeOf(name));
}

function snakeOf(name: string): string {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

type Change = (text: string, path: string) => string;

function walk(json: JsonObject, change: Change): Json {
  const visit = (value: Json, path: string, name: string, secret: boolean, headers: boolean): Json => {
    if (typeof value === 'string') return secret && value !== '' ? change(value, path) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value))
      return value.map((item: Json, i) => visit(item, `${path}[${i}]`, name, secret, false));
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([key, item]) => {
        const at = path === '' ? key : `${path}.${key}`;
        const snake = snakeOf(key);
        if (OPEN_MEMBERS.has(snake)) return [key, item];
        const inside = secret || SECRET.test(snake) || (headers && !OPEN_HEADERS.has(key.toLowerCase()));
        return [key, visit(item, at, key, inside, snake === 'headers')];
      }),
    );
  };
  return visit(json, '', '', false, false);
}
