// A template as it was read.

/** What a tag names: "." alone, or the parts of a dotted name. */
export type Path = readonly string[];

export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'value'; readonly path: Path }
  | {
      readonly kind: 'section';
      readonly path: Path;
      readonly inverted: boolean;
      readonly nodes: readonly Node[];
    }
  | { readonly kind: 'partial'; readonly name: string };

/** A template that can be rendered. */
export interface Template {
  readonly nodes: readonly Node[];
}

/** The name as it is written. */
export function nameOf(path: Path): string {
  return path.length === 0 ? '.' : path.join('.');
}

/** The partials that a template names itself, each once. */
export function partialsOf({ nodes }: Template): readonly string[] {
  const names = new Set<string>();
  const visit = (some: readonly Node[]): void => {
    for (const node of some) {
      if (node.kind === 'partial') names.add(node.name);
      else if (node.kind === 'section') visit(node.nodes);
    }
  };
  visit(nodes);
  return [...names];
}
