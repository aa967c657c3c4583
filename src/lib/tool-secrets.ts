// Credentials that a request hands to tool servers: `tools[].authorization`, `tools[].headers`, `mcp_servers[]` and
// their like, however deep. They are the caller's, for somebody else; no log keeps them.

/** Members that hold tools or their servers. */
const HOLDERS = new Set(['tools', 'mcp_servers', 'servers', 'connectors']);
/** Schemas describe what a tool takes; they hold no credentials. */
const SCHEMAS = new Set([
  'parameters',
  'input_schema',
  'inputschema',
  'json_schema',
  'schema',
  'output_schema',
]);
const CREDENTIAL =
  /^(?:proxy[-_]?)?authorization(?:[-_]?token)?$|(?:^|[-_])(?:token|secret|password|passwd|credentials?|cookie|jwt|bearer)$|(?:^|[-_])(?:api|access|auth|secret|private|subscription)[-_]?key$|^(?:accesstoken|apikey|xapikey|clientsecret|authtoken|bearertoken)$/i;
/** Headers whose values are not secret. */
const OPEN = /^(?:accept(?:-.*)?|content-.*|user-agent|host|mcp-protocol-version|x-request-id|traceparent)$/i;
/** The end of a name of one. Nothing here repeats without a bound: callers write these texts. */
const HINT =
  /(?:authorization|headers|token|secret|password|passwd|key|credentials?|cookie|jwt|bearer)[a-z_]{0,16}"/i;
/** Longest text that is parsed. */
export const MOST_TEXT = 1024 * 1024;
/** Credentials of one request that are looked for in other texts. */
const MOST_SECRETS = 256;
/** Values that are visited in one step. */
const STEP_VALUES = 10_000;
export const TOOL_MASK = '***';

/** A text without credentials, and those. */
export interface Masked {
  readonly text: string;
  /** Each also without its scheme; undefined: there are more than can be looked for in other texts. */
  readonly secrets: readonly string[] | undefined;
}

/** Whether a text may hold any: it is looked through once, and read no further where it does not. */
export function mayHoldToolSecrets(text: string): boolean {
  return [...HOLDERS].some((name) => text.includes(`"${name}"`)) && HINT.test(text);
}

/**
 * The credentials in a request's JSON, each also without its scheme. Of a text that is no JSON, or longer than 1 MiB:
 * none; see `maskToolSecrets`. Undefined: there are more than can be looked for.
 */
export function toolSecrets(text: string): readonly string[] | undefined {
  return atOnce(maskToolSecrets(text)).secrets;
}

/**
 * `toolSecrets`, and the text without them, in steps of a few milliseconds. What cannot be parsed (a text that was cut)
 * loses every member of such a name.
 */
export function* maskToolSecrets(text: string): Generator<void, Masked> {
  if (!mayHoldToolSecrets(text)) return { text, secrets: [] };
  const json = text.length > MOST_TEXT ? undefined : parsed(text);
  if (json === undefined) return { text: text.replaceAll(MEMBER, maskMember), secrets: [] };
  yield;
  const found = new Set<string>();
  let changed = false;
  yield* visit(json, (value) => {
    if (value === TOOL_MASK) return;
    changed = true;
    if (found.size > MOST_SECRETS) return;
    found.add(value);
    found.add(value.replace(/^(?:bearer|basic|token)\s+/i, ''));
  });
  const secrets = found.size > MOST_SECRETS ? undefined : [...found];
  if (!changed) return { text, secrets };
  yield;
  return { text: JSON.stringify(json), secrets };
}

/** A member whose value is a text, perhaps cut at the end. */
const MEMBER = /"((?:[^"\\]|\\.){1,64})"(\s*:\s*)"((?:[^"\\]|\\.)*)(?:"|$)/g;

function maskMember(whole: string, name: string, colon: string): string {
  return CREDENTIAL.test(name) ? `"${name}"${colon}"${TOOL_MASK}"` : whole;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface Place {
  readonly value: Record<string, unknown> | unknown[];
  readonly inTools: boolean;
  readonly inHeaders: boolean;
}

/** Tells every credential, and masks it in its place. */
function* visit(json: unknown, tell: (value: string) => void): Generator<void> {
  if (typeof json !== 'object' || json === null) return;
  const places: Place[] = [{ value: json as Place['value'], inTools: false, inHeaders: false }];
  let left = STEP_VALUES;
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { value, inTools, inHeaders } = place;
    const members = value as Record<string | number, unknown>;
    const list = Array.isArray(value);
    const names = list ? undefined : Object.keys(value);
    const count = list ? value.length : names!.length;
    for (let i = 0; i < count; i++) {
      if (--left === 0) {
        left = STEP_VALUES;
        yield;
      }
      const name = names === undefined ? i : names[i]!;
      const inner = members[name];
      if (typeof inner === 'string') {
        if (!inTools || inner === '' || !isSecret(name, inHeaders)) continue;
        tell(inner);
        members[name] = TOOL_MASK;
      } else if (typeof inner === 'object' && inner !== null) {
        const lower = typeof name === 'string' ? name.toLowerCase() : '';
        if (inTools && SCHEMAS.has(lower)) continue;
        places.push({
          value: inner as Place['value'],
          inTools: inTools || HOLDERS.has(lower),
          inHeaders: inHeaders || (inTools && lower.endsWith('headers')),
        });
      }
    }
  }
}

/** @param name a number in a list */
function isSecret(name: string | number, inHeaders: boolean): boolean {
  if (typeof name === 'number') return inHeaders;
  return inHeaders ? !OPEN.test(name) : CREDENTIAL.test(name);
}

/** All steps in one go. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
