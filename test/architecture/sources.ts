// The import lines and the code of the tree's TypeScript files.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { ROOT } from './tools.ts';

/** One file: its path below the project, its code without comments and texts, and what it imports. */
export interface Source {
  readonly path: string;
  /** Comments and the contents of texts taken out; its lines are those of the file. */
  readonly code: string;
  /** Comments, each with the line it begins on, from 1. */
  readonly comments: readonly { readonly line: number; readonly text: string }[];
  /** Paths below the project for the tree's own files, names for packages. */
  readonly imports: readonly string[];
}

const IMPORT = /(?:^|[;\n])\s*(?:import|export)\s(?:[^'";]*?\sfrom\s*)?'([^']+)'|\bimport\(\s*'([^']+)'/g;
// What must not be taken for code: in this order, because each may contain the others' beginnings.
const NOT_CODE = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;

/** All TypeScript files below a folder of the project, by path. */
export function sourcesOf(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => sourceOf(join(entry.parentPath, entry.name)))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function sourceOf(file: string): Source {
  const text = readFileSync(file, 'utf8');
  const imports = [...text.matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? '');
  return {
    path: below(file),
    code: text.replace(
      NOT_CODE,
      (found) => (/^['"`]/.test(found) ? "''" : ' ') + found.replace(/[^\n]/g, ''),
    ),
    comments: commentsOf(text),
    imports: imports
      .map((name) => name.replace(/\?.*$/, ''))
      .filter((name) => !name.endsWith('.css'))
      .map((name) => (name.startsWith('.') ? below(resolve(dirname(file), name)) : name)),
  };
}

function commentsOf(text: string): Source['comments'] {
  return [...text.matchAll(NOT_CODE)]
    .filter(([found]) => found.startsWith('/'))
    .map((match) => ({ line: text.slice(0, match.index).split('\n').length, text: match[0] }));
}

function below(file: string): string {
  return relative(ROOT, file).split(sep).join('/');
}
