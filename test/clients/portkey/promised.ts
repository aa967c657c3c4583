// What the published SDK's own types promise of an answer, read from its declarations.
import { readFileSync } from 'node:fs';

const FOLDER = new URL('../../../node_modules/portkey-ai/dist/src/apis/', import.meta.url);
const MEMBER = /^ {4}(\w+)(\?)?: (.+);$/;
const LITERALS = /^(?:'[^']*'(?: \| )?)+$/;

interface Member {
  readonly type: string;
  readonly optional: boolean;
}

/**
 * Where an answer is not what an interface of the SDK promises: members that are absent or of another type.
 * An optional member may be null, as it is on the wire of the product.
 * @param file the declarations' base name under the SDK's apis folder, e.g. "configs"
 */
export function broken(file: string, name: string, answer: unknown, at = ''): string[] {
  const text = readFileSync(new URL(`${file}.d.ts`, FOLDER), 'utf8');
  if (typeof answer !== 'object' || answer === null) return [`${at || name}: is no object`];
  const record = answer as Record<string, unknown>;
  return Object.entries(membersOf(text, name)).flatMap(([key, member]) => {
    const place = at === '' ? key : `${at}.${key}`;
    if (!Object.hasOwn(record, key)) return [`${place}: is absent`];
    const value = record[key];
    if (value === null && (member.optional || member.type.includes('null'))) return [];
    return wrong(file, text, member.type, value, place);
  });
}

/** The members of an interface, with those of the interface of the same file that it extends. */
function membersOf(text: string, name: string): Record<string, Member> {
  const found = new RegExp(`export interface ${name}(?: extends (\\w+))? \\{\n([^]*?)\n\\}`).exec(text);
  if (found === null) throw new Error(`the SDK has no interface ${name}`);
  const [, base, body] = found as unknown as [string, string | undefined, string];
  const own = body.split('\n').flatMap((line) => {
    const [, key, mark, type] = MEMBER.exec(line) ?? [];
    return key === undefined || type === undefined ? [] : [[key, { type, optional: mark === '?' }] as const];
  });
  const inherited = base !== undefined && text.includes(`interface ${base} `) ? membersOf(text, base) : {};
  return { ...inherited, ...Object.fromEntries(own) };
}

function wrong(file: string, text: string, type: string, value: unknown, place: string): string[] {
  const bare = type
    .split(' | ')
    .filter((part) => part !== 'null' && part !== 'any')
    .join(' | ');
  const is = (good: boolean): string[] =>
    good ? [] : [`${place}: is ${JSON.stringify(value)}, not ${bare}`];
  const item = /^(.+)\[\]$/.exec(bare)?.[1];
  if (item !== undefined) {
    if (!Array.isArray(value)) return is(false);
    return value.flatMap((one, i) => wrong(file, text, item, one, `${place}[${i}]`));
  }
  switch (bare) {
    case '':
      return [];
    case 'string':
    case 'number':
    case 'boolean':
      return is(typeof value === bare);
    case 'Date':
      return is(typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value));
    case 'Record<string, any>':
    case 'Record<string, string>':
      return is(typeof value === 'object' && !Array.isArray(value));
    default:
      if (LITERALS.test(bare)) return is(bare.split(' | ').includes(`'${String(value)}'`));
      return broken(file, bare, value, place);
  }
}
