// A template with its variables: text. Bounded in work, depth and size, whatever the template and the variables are.
import { type GatewayError, invalidField, validationFailed } from '../../lib/errors.ts';
import { type Node, nameOf, type Path, type Template } from './nodes.ts';
import { Scopes, textOf } from './scopes.ts';
import { jsonWriter, longestText, textWriter } from './writers.ts';

/** Nodes visited and scopes looked through: some 30 ms. */
const MAX_STEPS = 250_000;
/** Partials within partials. */
export const MAX_PARTIAL_DEPTH = 16;

export interface RenderDeps {
  readonly variables: Readonly<Record<string, string>>;
  /** The partials that the template and its partials name. */
  readonly partials: ReadonlyMap<string, Template>;
  /** The form of the rendered text. */
  readonly form: 'text' | 'json';
}

/**
 * The template's text. A variable that nothing gives is refused where it is written, not where a section asks for it.
 * @throws GatewayError validation_failed with every missing variable, or the bound that does not hold.
 */
export function render({ nodes }: Template, { variables, partials, form }: RenderDeps): string {
  const most = longestText(variables);
  const writer = form === 'json' ? jsonWriter(most) : textWriter(most);
  const scopes = new Scopes(variables);
  const missing = new Set<string>();
  const within: string[] = [];
  let steps = 0;

  const find = (path: Path): unknown => {
    steps += scopes.depth;
    return scopes.find(path);
  };

  function run(some: readonly Node[]): void {
    for (const node of some) {
      if (++steps > MAX_STEPS)
        throw invalidField('variables', 'the template takes too many steps with these', 'steps');
      if (node.kind === 'text') writer.literal(node.text);
      else if (node.kind === 'value') {
        const value = find(node.path);
        if (value === undefined) missing.add(nameOf(node.path));
        else writer.value(nameOf(node.path), textOf(value));
      } else if (node.kind === 'section') section(node.path, node.inverted, node.nodes);
      else partial(node.name);
    }
  }

  function section(path: Path, inverted: boolean, inner: readonly Node[]): void {
    const value = scopes.structured(find(path));
    const holds = Array.isArray(value) ? value.length > 0 : Boolean(value);
    if (inverted) {
      if (!holds) run(inner);
    } else if (Array.isArray(value)) {
      for (const one of value) {
        steps++;
        scopes.within(one, () => run(inner));
      }
    } else if (holds) scopes.within(value, () => run(inner));
  }

  function partial(name: string): void {
    const template = partials.get(name);
    if (template === undefined) throw invalidField('string', `there is no partial ${name}`, 'partial');
    if (within.includes(name)) throw cyclic([...within.slice(within.indexOf(name)), name]);
    if (within.length === MAX_PARTIAL_DEPTH)
      throw invalidField('string', `partials are nested at most ${MAX_PARTIAL_DEPTH} deep`, 'partial');
    within.push(name);
    writer.partial(() => run(template.nodes));
    within.pop();
  }

  run(nodes);
  if (missing.size > 0)
    throw validationFailed(
      [...missing].map((name) => ({
        field: `variables.${name}`,
        rule: 'missing',
        message: 'is needed by the template',
      })),
    );
  return writer.text();
}

/** Partials that include each other. */
export function cyclic(names: readonly string[]): GatewayError {
  return invalidField('string', `partials include each other: ${names.join(' > ')}`, 'partial');
}
