// YAML files, one or a folder of them, with the line of each member. What a file says is never part of an error.
import { closeSync, openSync, readdirSync, readSync, type Stats, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';

/** A fault and its line, from 1. */
export interface YamlFault {
  readonly line: number;
  readonly message: string;
}

/** A file as it was read. */
export interface YamlFile {
  readonly name: string;
  /** What it says; undefined when it is no YAML. */
  readonly document: unknown;
  readonly faults: readonly YamlFault[];
  /** The line of a member, e.g. of "configs[0].name"; of what is nearest above it when it is not there. */
  lineOf(path: string): number;
}

/** What a path leads to. */
export interface YamlFiles {
  /** The file's name, or the folder's. */
  readonly source: string;
  readonly files: readonly YamlFile[];
}

const MOST_BYTES = 16 * 1024 * 1024;
const PART_BYTES = 64 * 1024;
const MOST_ALIASES = 1000;
const WORDS: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'a member is named twice',
  TAB_AS_INDENT: 'a tab must not indent',
  BAD_INDENT: 'is not indented as the lines before',
  MULTIPLE_DOCS: 'must be one document',
  TAG_RESOLVE_FAILED: 'has a tag that is not known',
};

/** @throws Error with a message for people when there is no such file, or no file in the folder */
export function readYamlFiles(path: string): YamlFiles {
  const whole = resolve(path);
  const stat = statSync(whole, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`there is no file or folder ${path}`);
  if (!stat.isDirectory()) {
    const name = basename(whole);
    if (!holdsText(stat)) throw new Error(`${path} is no file`);
    return { source: name, files: [readYaml(whole, name)] };
  }
  const source = `${basename(whole)}/`;
  const names = readdirSync(whole)
    .filter((name) => /\.ya?ml$/i.test(name) && !name.startsWith('.') && isFile(join(whole, name)))
    .sort();
  if (names.length === 0) throw new Error(`there is no .yaml file in ${path}`);
  return { source, files: names.map((name) => readYaml(join(whole, name), `${source}${name}`)) };
}

function readYaml(path: string, name: string): YamlFile {
  let text: string | undefined;
  try {
    text = textOf(path);
  } catch (error) {
    return broken(name, 1, `cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  if (text === undefined) return broken(name, 1, 'is larger than 16 MiB');
  const counter = new LineCounter();
  const parsed = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  const lineAt = (offset: number): number => counter.linePos(offset).line;
  // A warning is of a tag that there is not: its value would be read as a text.
  const faults = [...parsed.errors, ...parsed.warnings].map(({ code, pos }) => ({
    line: lineAt(pos[0]),
    message: WORDS[code] ?? `is no YAML (${code.toLowerCase().replaceAll('_', ' ')})`,
  }));
  if (faults.length > 0) return { name, document: undefined, faults, lineOf: () => 1 };
  let document: unknown;
  try {
    document = parsed.toJS({ maxAliasCount: MOST_ALIASES });
  } catch {
    return broken(name, 1, 'names anchors that are not there, or too many of them');
  }
  if (holdsItself(document)) return broken(name, 1, 'has an anchor that is named within itself');
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return broken(name, 1, 'must be an object with `version: 1`');
  const lineOf = (member: string): number => {
    let node: unknown = parsed.contents;
    let line = 1;
    for (const [, index, key] of member.matchAll(/\[(\d+)\]|([^.[\]]+)/g)) {
      if (isAlias(node)) node = node.resolve(parsed);
      if (isSeq(node) && index !== undefined) node = node.items[Number(index)];
      else if (isMap(node) && key !== undefined) {
        const pair = node.items.find((one) => isScalar(one.key) && String(one.key.value) === key);
        if (pair === undefined) return line;
        line = lineAt((pair.key as Node).range?.[0] ?? 0);
        node = pair.value;
        continue;
      } else return line;
      const start = (node as Node | undefined)?.range?.[0];
      if (start !== undefined) line = lineAt(start);
    }
    return line;
  };
  return { name, document, faults: [], lineOf };
}

/** Whether a value stands within itself: nothing that walks through it would end. */
function holdsItself(value: unknown, above = new Set<unknown>()): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (above.has(value)) return true;
  above.add(value);
  const found = Object.values(value).some((item) => holdsItself(item, above));
  above.delete(value);
  return found;
}

/** A file, or a pipe such as that of `<(command)`; a device may have no end. */
function holdsText(stat: Stats): boolean {
  return stat.isFile() || stat.isFIFO();
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Undefined: it is too large. No more than that is read. @throws Error of the system */
function textOf(path: string): string | undefined {
  const parts: Buffer[] = [];
  let size = 0;
  const file = openSync(path, 'r');
  try {
    for (;;) {
      const part = Buffer.allocUnsafe(PART_BYTES);
      const length = readSync(file, part);
      if (length === 0) return Buffer.concat(parts).toString('utf8');
      size += length;
      if (size > MOST_BYTES) return undefined;
      parts.push(part.subarray(0, length));
    }
  } finally {
    closeSync(file);
  }
}

function broken(name: string, line: number, message: string): YamlFile {
  return { name, document: undefined, faults: [{ line, message }], lineOf: () => line };
}
