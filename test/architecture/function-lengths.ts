// The functions of the tree's TypeScript files and how long they are.
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { type Node, parse } from 'acorn';
import { fullAncestor } from 'acorn-walk';
import { sourcesOf } from './sources.ts';
import { ROOT } from './tools.ts';

export interface MeasuredFunction {
  /** The file's path and the name of the function or of the one around it; without either its first line. */
  readonly name: string;
  /** From its first to its last, with the functions within it. */
  readonly lines: number;
}

/** All functions of the files below a folder of the project. */
export function functionsOf(folder: string): MeasuredFunction[] {
  // Markup is measured by no line count.
  const files = sourcesOf(folder).filter(({ path }) => path.endsWith('.ts'));
  return files.flatMap(({ path }) => measure(path, readFileSync(join(ROOT, path), 'utf8')));
}

/** The functions of one file's text. */
export function measure(path: string, text: string): MeasuredFunction[] {
  // Types become blanks, so that lines stay where they are.
  const code = stripTypeScriptTypes(text, { mode: 'strip' });
  const found: MeasuredFunction[] = [];
  fullAncestor(
    parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true }),
    (node, _state, ancestors) => {
      if (!isFunction(node)) return;
      const named = ancestors.findLast((other) => isFunction(other) && idOf(other) !== undefined);
      const name = (named && idOf(named)) ?? `line ${node.loc?.start.line}`;
      found.push({ name: `${path} ${name}`, lines: linesOf(node) });
    },
  );
  return found;
}

function isFunction({ type }: Node): boolean {
  return /^(?:Function|ArrowFunction)/.test(type);
}

function linesOf({ loc }: Node): number {
  return loc ? loc.end.line - loc.start.line + 1 : 0;
}

function idOf(node: Node): string | undefined {
  return (node as Node & { readonly id?: { readonly name: string } | null }).id?.name;
}
