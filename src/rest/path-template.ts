// Path templates of google.api.http: literals, {name}, {name=*} and {name=**},
// with an optional `:verb` at the end. Source: google/api/http.proto, "Path template syntax".

type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'one' | 'rest'; readonly field: string; readonly verb: string };

/** A parsed path template. */
export interface PathTemplate {
  readonly text: string;
  /** The template with its variables' names taken out: equal shapes match the same paths. */
  readonly shape: string;
  /** Names of the fields that the path carries. */
  readonly fields: readonly string[];
  /** Whether no segment is variable. */
  readonly literal: boolean;
  /** The fields' raw (still percent-encoded) values, or undefined when the path does not match. */
  match(segments: readonly string[]): Map<string, string> | undefined;
}

/** Parses a template. @throws Error for syntax that no route of this gateway uses. */
export function parsePathTemplate(text: string): PathTemplate {
  if (!text.startsWith('/')) throw new Error(`path template ${text}: must begin with a slash`);
  const segments = text
    .slice(1)
    .split('/')
    .map((part) => parseSegment(text, part));
  const restAt = segments.findIndex((s) => s.kind === 'rest');
  if (restAt !== -1 && restAt !== segments.length - 1)
    throw new Error(`path template ${text}: ** must be last`);
  const fields = segments.flatMap((s) => (s.kind === 'literal' ? [] : [s.field]));
  return {
    text,
    shape: `/${segments.map((s) => (s.kind === 'literal' ? s.text : (s.kind === 'one' ? '*' : '**') + s.verb)).join('/')}`,
    fields,
    literal: fields.length === 0,
    match: (path) => matchSegments(segments, path),
  };
}

function parseSegment(template: string, part: string): Segment {
  const variable = /^\{([a-z_][a-z0-9_.]*)(?:=(\*\*?))?\}((?::[A-Za-z]+)?)$/.exec(part);
  if (variable) {
    const [, field = '', many, verb = ''] = variable;
    return { kind: many === '**' ? 'rest' : 'one', field, verb };
  }
  if (!/^[A-Za-z0-9._~@:-]+$/.test(part))
    throw new Error(`path template ${template}: cannot read segment "${part}"`);
  return { kind: 'literal', text: part };
}

function matchSegments(
  segments: readonly Segment[],
  path: readonly string[],
): Map<string, string> | undefined {
  const values = new Map<string, string>();
  for (const [i, segment] of segments.entries()) {
    if (segment.kind === 'rest') {
      const rest = withoutVerb(path.slice(i).join('/'), segment.verb);
      if (rest === undefined || rest === '') return undefined;
      values.set(segment.field, rest);
      return values;
    }
    const part = path[i];
    if (part === undefined || part === '') return undefined;
    if (segment.kind !== 'literal') {
      const value = withoutVerb(part, segment.verb);
      if (value === undefined || value === '') return undefined;
      values.set(segment.field, value);
    } else if (part !== segment.text && decodeSegment(part) !== segment.text) return undefined;
  }
  return path.length === segments.length ? values : undefined;
}

/** What stands before the verb, whose colon may be encoded; undefined when the verb is another one. */
function withoutVerb(part: string, verb: string): string | undefined {
  if (verb === '') return part;
  if (part.endsWith(verb)) return part.slice(0, -verb.length);
  const name = verb.slice(1);
  return part.endsWith(name) && /%3a$/i.test(part.slice(0, -name.length))
    ? part.slice(0, -name.length - 3)
    : undefined;
}

/** A path segment without its percent-encoding; undefined when it is malformed. */
export function decodeSegment(part: string): string | undefined {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
