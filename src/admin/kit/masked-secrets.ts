// Credentials within JSON that callers wrote: never shown again as a whole. The masked form may be sent back
// and stands for the credential, so that a caller who reads, changes a little and writes needs to know none.
import type { Json, JsonObject } from '../../store/collection.ts';
import { addressesIn, CredentialReach, maskOf, type Place, snakeOf } from './credential-reach.ts';

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
  const reach = new CredentialReach();
  if (before !== undefined)
    walk(before, (text, path, place) => {
      byPath.set(path, text);
      byMask.set(maskOf(text), (byMask.get(maskOf(text)) ?? new Set()).add(text));
      reach.known(text, place);
      return text;
    });
  const known = addressesIn(before ?? {});
  for (const address of [...known]) known.add(maskOf(address));
  const isElsewhere = [...addressesIn(json)].some((address) => !known.has(address));
  return walk(json, (text, path, place) => {
    if (!text.includes(MASK)) return text;
    const here = byPath.get(path);
    const isHere = here !== undefined && maskOf(here) === text;
    const meant = isHere ? [here] : [...(byMask.get(text) ?? [])];
    if (meant.length === 1 && !isElsewhere && reach.isSame(meant[0]!, place)) return meant[0]!;
    const why = isElsewhere || meant.length === 1 ? ', for there is a new address' : '';
    faults.push({ path, message: `is masked: give the whole credential${why}` });
    return text;
  }) as JsonObject;
}

/** Whether a member of this name, in any spelling, holds a credential. */
export function isSecretMember(name: string): boolean {
  return SECRET.test(snakeOf(name));
}

type Change = (text: string, path: string, place: Place) => string;

function walk(json: JsonObject, change: Change): Json {
  const visit = (value: Json, path: string, secret: boolean, headers: boolean, above: Place): Json => {
    if (typeof value === 'string') return secret && value !== '' ? change(value, path, above) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value))
      return value.map((item: Json, i) => visit(item, `${path}[${i}]`, secret, false, above));
    const object = value as JsonObject;
    const place = secret || headers || object === json ? above : { json: object, above };
    return Object.fromEntries(
      Object.entries(object).map(([key, item]) => {
        const at = path === '' ? key : `${path}.${key}`;
        const snake = snakeOf(key);
        if (OPEN_MEMBERS.has(snake)) return [key, item];
        const inside = secret || SECRET.test(snake) || (headers && !OPEN_HEADERS.has(key.toLowerCase()));
        return [key, visit(item, at, inside, snake === 'headers', place)];
      }),
    );
  };
  return visit(json, '', false, false, { json });
}
