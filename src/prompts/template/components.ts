// The components of a template: its variables, sections and partials (admin-api facts, part 6.3, "variable_components").
import { type Node, nameOf, type Template } from './nodes.ts';

/** Names, each once, in the order in which they come. */
export interface Components {
  readonly variables: readonly string[];
  readonly sections: readonly string[];
  readonly partials: readonly string[];
  /** By section: the variables within it. */
  readonly sectionVariables: ReadonlyMap<string, readonly string[]>;
}

export function componentsOf({ nodes }: Template): Components {
  const variables = new Set<string>();
  const partials = new Set<string>();
  const sections = new Map<string, Set<string>>();
  const visit = (some: readonly Node[], inside: readonly Set<string>[]): void => {
    for (const node of some) {
      if (node.kind === 'partial') partials.add(node.name);
      else if (node.kind === 'value') {
        const name = nameOf(node.path);
        for (const own of inside) own.add(name);
        if (inside.length === 0) variables.add(name);
      } else if (node.kind === 'section') {
        const name = nameOf(node.path);
        const own = sections.get(name) ?? new Set<string>();
        sections.set(name, own);
        visit(node.nodes, [...inside, own]);
      }
    }
  };
  visit(nodes, []);
  return {
    variables: [...variables],
    sections: [...sections.keys()],
    partials: [...partials],
    sectionVariables: new Map([...sections].map(([name, own]) => [name, [...own]])),
  };
}

const roots = new WeakMap<Template, ReadonlySet<string>>();

/** The variables that a template looks up first: the beginnings of all names in it. */
export function rootsOf(template: Template): ReadonlySet<string> {
  let found = roots.get(template);
  if (found === undefined) {
    found = readRoots(template);
    roots.set(template, found);
  }
  return found;
}

function readRoots({ nodes }: Template): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (some: readonly Node[]): void => {
    for (const node of some) {
      if (node.kind === 'value' || node.kind === 'section') {
        const [first] = node.path;
        if (first !== undefined) names.add(first);
      }
      if (node.kind === 'section') visit(node.nodes);
    }
  };
  visit(nodes);
  return names;
}
