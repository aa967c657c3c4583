// Files of declared state -> records, with every fault of their form.

import type { Violation } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { nextSlice } from '../../lib/time-slices.ts';
import { shapeOf } from '../../rest/json-shape.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { DeclaredRecord, Kind } from './kind.ts';
import { kindName, kindOf, LISTS } from './kinds.ts';
import { resolveSecrets } from './secrets.ts';

/** A file as it came. */
export interface GivenFile {
  readonly name: string;
  readonly document: JsonObject;
}

/** What the files say. */
export interface ReadFiles {
  readonly records: readonly DeclaredRecord[];
  readonly faults: readonly Violation[];
  /** Texts that no answer may repeat. */
  readonly unspeakable: readonly string[];
  /** What records with faults are found by: others name them in vain. */
  readonly faulty: ReadonlySet<string>;
}

const SLUG = /^[A-Za-z0-9_-]{1,255}$/;
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Gives way to other work in between. @param variable the value of a variable; undefined: it is not set */
export async function readFiles(
  files: readonly GivenFile[],
  variable: (name: string) => string | undefined,
): Promise<ReadFiles> {
  const faults: Violation[] = [];
  const records: DeclaredRecord[] = [];
  const unspeakable: string[] = [];
  const faulty = new Set<string>();
  const known = new Map<string, DeclaredRecord>();
  for (const [fileIndex, file] of files.entries()) {
    const wrong = (path: string, message: string, rule = 'declared'): void =>
      void faults.push({ field: fieldOf(fileIndex, path), rule, message });
    for (const [list, json, path] of listed(file.document, wrong)) {
      await nextSlice();
      const before = faults.length;
      const { members, secrets } = readSecrets(list, json, fileIndex, path, {
        faults,
        unspeakable,
        variable,
      });
      const kind = kindOf(list, json);
      if (kind === undefined) wrong(`${path}.kind`, 'must be rate-limits or usage-limits', 'required');
      else checkMembers(kind, json, (member, message) => wrong(`${path}.${member}`, message, 'unknown'));
      // What is wrong with these does not hide what is wrong with the others.
      const wrongMembers = faults.slice(before).map(({ field }) => field);
      const inside = faults.length;
      const slug = kind === undefined ? undefined : slugOf(kind, json, (m) => wrong(`${path}.slug`, m));
      const name = slug ?? kind?.nameOf(json);
      if (kind !== undefined && name === undefined)
        wrong(`${path}.name`, 'is needed: the record is found by it', 'required');
      if (kind === undefined || faults.length > inside) {
        if (name !== undefined) faulty.add(name);
        continue;
      }
      const record: DeclaredRecord = {
        kind,
        file: file.name,
        fileIndex,
        path,
        declared: json,
        members: wrongMembers.length === 0 ? members : knownOf(kind, members),
        secrets,
        slug,
        name: name!,
        wrongMembers,
      };
      const identity = `${kindName(kind)} ${isOwn(kind) ? '' : String(json.workspace ?? 'default')} ${name}`;
      const twin = known.get(identity);
      if (twin !== undefined) {
        const member = slug === undefined ? 'name' : 'slug';
        wrong(`${path}.${member}`, `is declared twice: also in ${twin.file}, ${twin.path}`, 'unique');
      } else {
        known.set(identity, record);
        records.push(record);
      }
    }
  }
  return { records, faults, unspeakable, faulty };
}

/** Slugs of all but stored providers are unique in the organisation. */
function isOwn({ slugs, list }: Kind): boolean {
  return slugs && list !== 'providers';
}

/** A place in a file, as violations name it. */
export function fieldOf(fileIndex: number, path: string): string {
  return `files[${fileIndex}].document${path === '' ? '' : `.${path}`}`;
}

type Wrong = (path: string, message: string, rule?: string) => void;

/** The records of a document, with their lists and places. */
function* listed(document: JsonObject, wrong: Wrong): Generator<readonly [string, JsonObject, string]> {
  if (document.version !== 1) wrong('version', 'must be 1', 'version');
  for (const [list, items] of Object.entries(document)) {
    if (list === 'version') continue;
    if (!LISTS.includes(list)) {
      wrong(list, `is no list of declared state${didYouMean(list, ['version', ...LISTS])}`, 'unknown');
      continue;
    }
    if (items === null) continue;
    if (!Array.isArray(items)) {
      wrong(list, 'must be a list', 'type');
      continue;
    }
    for (const [i, item] of (items as readonly Json[]).entries()) {
      if (typeof item === 'object' && item !== null && !Array.isArray(item))
        yield [list, item as JsonObject, `${list}[${i}]`];
      else wrong(`${list}[${i}]`, 'must be an object', 'type');
    }
  }
}

interface Noted {
  readonly faults: Violation[];
  readonly unspeakable: string[];
  readonly variable: (name: string) => string | undefined;
}

/** References become mappings of the integration's fields. */
function readSecrets(
  list: string,
  json: JsonObject,
  fileIndex: number,
  path: string,
  { faults, unspeakable, variable }: Noted,
): { readonly members: JsonObject; readonly secrets: readonly string[] } {
  const kind = kindOf(list, json);
  const isSecret = (at: string): boolean => kind?.isSecret?.(at, json) === true;
  const read = resolveSecrets(json, isSecret, variable, fieldOf(fileIndex, path));
  faults.push(...read.faults);
  unspeakable.push(...read.plain, ...read.values);
  const mappings: JsonObject[] = [];
  for (const { path: at, slug } of read.references) {
    if (list === 'integrations' && (at === 'key' || /^configurations\.\w+$/.test(at)))
      mappings.push({ target_field: at, secret_reference_id: slug });
    else
      faults.push({
        field: `${fieldOf(fileIndex, path)}.${at}`,
        rule: 'secret',
        message: 'must be { env: NAME }: references are for the key and the options of integrations',
      });
  }
  const given = Array.isArray(json.secret_mappings) ? (json.secret_mappings as readonly Json[]) : [];
  const members =
    mappings.length === 0 ? read.members : { ...read.members, secret_mappings: [...given, ...mappings] };
  return { members, secrets: read.values };
}

/** Members that lists have in the place of ids. */
const BY_SLUG: Readonly<Record<string, string>> = {
  workspace: 'workspace_id',
  integration: 'integration_id',
};
const NEVER = new Set(['organisation_id', 'sub-type', 'isDefault']);

const members = new WeakMap<Kind, readonly string[]>();

/** The members that records of a list may have. */
export function membersOf(kind: Kind): readonly string[] {
  const known = members.get(kind) ?? readMembers(kind);
  members.set(kind, known);
  return known;
}

function readMembers(kind: Kind): readonly string[] {
  const shape = shapeOf(kind.create.input);
  const names = shape.kind === 'object' ? [...shape.byName.keys()] : [];
  const refs = Object.entries(BY_SLUG).flatMap(([name, id]) => (names.includes(id) ? [name] : []));
  const own = [...(kind.own ?? []), ...(kind.slugs ? ['slug'] : [])];
  return [...new Set([...names.filter((name) => !NEVER.has(name)), ...refs, ...own])];
}

/** The members that the list has. */
function knownOf(kind: Kind, members: JsonObject): JsonObject {
  const names = new Set(membersOf(kind));
  return Object.fromEntries(Object.entries(members).filter(([name]) => names.has(name)));
}

function checkMembers(kind: Kind, json: JsonObject, wrong: (member: string, message: string) => void): void {
  const names = membersOf(kind);
  for (const name of Object.keys(json))
    if (!names.includes(name)) wrong(name, `is not a member of ${kind.list}${didYouMean(name, names)}`);
}

function slugOf(kind: Kind, { slug }: JsonObject, wrong: (message: string) => void): string | undefined {
  if (slug === undefined || slug === null) return undefined;
  if (!kind.slugs || typeof slug !== 'string') {
    wrong(kind.slugs ? 'must be a string' : 'is not a member here: the record is found by its name');
    return undefined;
  }
  if (!SLUG.test(slug)) wrong('must be 1 to 255 letters, digits, _ and -');
  else if (ID.test(slug)) wrong('must not have the form of an id');
  return slug;
}
