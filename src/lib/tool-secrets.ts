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
const HINT =
  /"(?:authorization|headers|mcp|[a-z_-]*(?:token|secret|password|key|credentials?|cookie))[a-z_]*"/i;
const MOST_TEXT = 1024 * 1024;
const MOST_NODES = 50_000;
export const TOOL_MASK = '***';

/** Whether a text may hold any: it is looked through once, and read no further where it does not. */
export function mayHoldToolSecrets(text: string): boolean {
  return [...HOLDERS].some((name) => text.includes(`"${name}"`)) && HINT.test(text);
}

/**
 * The credentials in a request's JSON, each also without its scheme. Of a text that is no JSON, or longer than 1 MiB:
 * none; see `withoutToolSecrets`.
 */
export function toolSecrets(text: string): readonly string[] {
  if (text.length > MOST_TEXT || !mayHoldToolSecrets(text)) return [];
  const found = new Set<string>();
  visit(parsed(text), (value) => {
    found.add(value);
    found.add(value.replace(/^(?:bearer|basic|token)\s+/i, ''));
    return value;
  });
  return [...found].filter((secret) => secret !== TOOL_MASK);
}

/** A request's text without them. What cannot be parsed (a text that was cut) loses every member of such a name. */
export function withoutToolSecrets(text: string): string {
  if (!mayHoldToolSecrets(text)) return text;
  const json = text.length > MOST_TEXT ? undefined : parsed(text);
  if (json === undefined) return text.replaceAll(MEMBER, maskMember);
  let changed = false;
  visit(json, (value) => {
    changed ||= value !== TOOL_MASK;
    return TOOL_MASK;
  });
  return changed ? JSON.stringify(json) : text;
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
  readonly value: object;
  readonly inTools: boolean;
  readonly inHeaders: boolean;
}

/** Gives every credential to `change`, and puts what it answers in its place. */
function visit(json: unknown, change: (value: string) => string): void {
  if (typeof json !== 'object' || json === null) return;
  const places: Place[] = [{ value: json, inTools: false, inHeaders: false }];
  for (let count = 0; places.length > 0 && count < MOST_NODES; count++) {
    const { value, inTools, inHeaders } = places.pop()!;
    const members = value as Record<string, unknown>;
    for (const [name, inner] of Object.entries(members)) {
      const lower = name.toLowerCase();
      if (typeof inner === 'string') {
        const isSecret = inTools && (inHeaders ? !OPEN.test(name) : CREDENTIAL.test(name));
        if (isSecret && inner !== '') members[name] = change(inner);
      } else if (typeof inner === 'object' && inner !== null && !(inTools && SCHEMAS.has(lower))) {
        const list = Array.isArray(value);
        places.push({
          value: inner,
          inTools: inTools || (!list && HOLDERS.has(lower)),
          inHeaders: list ? inHeaders : inHeaders || (inTools && /headers$/.test(lower)),
        });
      }
    }
  }
}
