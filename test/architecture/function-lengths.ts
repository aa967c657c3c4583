// The functions of the tree's TypeScript files and how long they are.
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { type Node, parse } from 'acorn';
import { fullAncestor } from 'acorn-walk';
import { sourcesOf } from './sources.ts';
import { ROOT } from './tools.ts';

export interface MeasuredFunction {
  /** The file's path and the function's name where it has one, else its first line. */
  readonly name: string;
  /** Its own lines: those of the functions within it are theirs. */
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
  const own = new Map<Node, number>();
  fullAncestor(
    parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true }),
    (node, _state, ancestors) => {
      if (!isFunction(node)) return;
      const lines = linesOf(node);
      own.set(node, (own.get(node) ?? 0) + lines);
      const around = ancestors.findLast((other) => other !== node && isFunction(other));
      if (around !== undefined && lines > 1) own.set(around, (own.get(around) ?? 0) - lines);
    },
  );
  return [...own].map(([node, lines]) => ({ name: `${path} ${nameOf(node)}`, lines }));
}

function isFunction({ type }: Node): boolean {
  return /^(?:Function|ArrowFunction)/.test(type);
}

function linesOf({ loc }: Node): number {
  return loc ? loc.end.line - loc.start.line + 1 : 0;
}

function nameOf(node: Node): string {
  const { id } = node as Node & { readonly id?: { readonly name: string } | null };
  return id?.name ?? `line ${node.loc?.start.line}`;
}
