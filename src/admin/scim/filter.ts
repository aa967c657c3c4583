// Filters of SCIM (RFC 7644, part 3.4.2.2): read into a tree and held against resources. A parser of our own: the ones
// that are published recurse without a bound, and know no schema, so not whether letter case counts.
import { type Attribute, valueAttribute } from './attribute.ts';
import { type AttributePath, pathOf } from './attribute-path.ts';
import { type Token, tokensOf } from './filter-tokens.ts';
import { wrong } from './scim-error.ts';

export type Comparison = 'eq' | 'ne' | 'co' | 'sw' | 'ew' | 'gt' | 'ge' | 'lt' | 'le';
export type FilterValue = string | number | boolean | null;

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly kind: 'not'; readonly part: Filter }
  | { readonly kind: 'present'; readonly path: AttributePath }
  | { readonly kind: 'values'; readonly path: AttributePath; readonly part: Filter }
  | {
      readonly kind: 'compare';
      readonly path: AttributePath;
      readonly op: Comparison;
      readonly value: FilterValue;
    };

/** Characters of a filter. */
export const LONGEST_FILTER = 4096;
/** Comparisons in a filter. */
const MOST_COMPARISONS = 100;
/** Parentheses, brackets and `not` within each other. */
const DEEPEST = 20;

const COMPARISONS: ReadonlySet<string> = new Set(['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le']);

/** @throws ScimError invalidFilter */
export function parseFilter(text: string, attributes: readonly Attribute[]): Filter {
  if (text.length > LONGEST_FILTER) throw faulty(`a filter has at most ${LONGEST_FILTER} characters`);
  const reader = new FilterReader(tokensOf(text), attributes);
  const filter = reader.or(0);
  reader.end();
  return filter;
}

class FilterReader {
  readonly #tokens: readonly Token[];
  #attributes: readonly Attribute[];
  #at = 0;
  #comparisons = 0;

  constructor(tokens: readonly Token[], attributes: readonly Attribute[]) {
    this.#tokens = tokens;
    this.#attributes = attributes;
  }

  end(): void {
    const left = this.#tokens[this.#at];
    if (left !== undefined) throw faulty(`nothing may follow at position ${left.at}`);
  }

  or(depth: number): Filter {
    const parts = [this.#and(depth)];
    while (this.#takeWord('or')) parts.push(this.#and(depth));
    return parts.length === 1 ? parts[0]! : { kind: 'or', parts };
  }

  #and(depth: number): Filter {
    const parts = [this.#term(depth)];
    while (this.#takeWord('and')) parts.push(this.#term(depth));
    return parts.length === 1 ? parts[0]! : { kind: 'and', parts };
  }

  #term(depth: number): Filter {
    if (depth > DEEPEST) throw faulty(`a filter is at most ${DEEPEST} levels deep`);
    if (this.#takeSign('(')) return this.#closed(depth, ')');
    const word = this.#word('an attribute');
    if (word.text.toLowerCase() === 'not' && this.#takeSign('('))
      return { kind: 'not', part: this.#closed(depth, ')') };
    const path = this.#path(word);
    return this.#takeSign('[') ? this.#values(path, depth) : this.#comparison(path);
  }

  #closed(depth: number, sign: ')' | ']'): Filter {
    const part = this.or(depth + 1);
    if (!this.#takeSign(sign)) throw faulty(`${sign} is missing`);
    return part;
  }

  #values(path: AttributePath, depth: number): Filter {
    const outer = this.#attributes;
    const { subAttributes } = path.sub ?? path.attribute;
    if (subAttributes === undefined) throw faulty(`${path.attribute.name} has no parts to filter by`);
    this.#attributes = subAttributes;
    const part = this.#closed(depth, ']');
    const further = this.#further();
    this.#attributes = outer;
    return {
      kind: 'values',
      path,
      part: further === undefined ? part : { kind: 'and', parts: [part, further] },
    };
  }

  /** As Entra writes it: `emails[type eq "work"].value eq "..."`, where the RFC has the comparison within the brackets. */
  #further(): Filter | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'word' || !token.text.startsWith('.')) return undefined;
    this.#at++;
    return this.#comparison(this.#path({ ...token, text: token.text.slice(1) }));
  }

  #comparison(path: AttributePath): Filter {
    if (++this.#comparisons > MOST_COMPARISONS)
      throw faulty(`a filter has at most ${MOST_COMPARISONS} comparisons`);
    const op = this.#word('an operator').text.toLowerCase();
    if (op === 'pr') return { kind: 'present', path };
    if (!COMPARISONS.has(op)) throw faulty(`${op.slice(0, 40)} is no operator`);
    const token = this.#tokens[this.#at++];
    if (token === undefined || token.value === undefined)
      throw faulty('a value must be a text in double quotes, a number, true, false or null');
    return { kind: 'compare', path, op: op as Comparison, value: checkedValue(path, op, token.value) };
  }

  #path({ text }: Token): AttributePath {
    const path = pathOf(text, this.#attributes);
    if (path === undefined) throw faulty(`${text.slice(0, 100)} is no attribute`);
    return path;
  }

  #word(what: string): Token {
    const token = this.#tokens[this.#at++];
    if (token?.kind !== 'word') throw faulty(`${what} is missing${token ? ` at position ${token.at}` : ''}`);
    return token;
  }

  #takeWord(word: string): boolean {
    const token = this.#tokens[this.#at];
    const isNext = token?.kind === 'word' && token.text.toLowerCase() === word;
    if (isNext) this.#at++;
    return isNext;
  }

  #takeSign(sign: string): boolean {
    const token = this.#tokens[this.#at];
    const isNext = token?.kind === 'sign' && token.text === sign;
    if (isNext) this.#at++;
    return isNext;
  }
}

function checkedValue({ attribute, sub }: AttributePath, op: string, value: FilterValue): FilterValue {
  const leaf = sub ?? (attribute.type === 'complex' ? (valueAttribute(attribute) ?? attribute) : attribute);
  if (value === null) return value;
  if (leaf.type === 'boolean') {
    const lower = typeof value === 'string' ? value.toLowerCase() : value;
    const truth = lower === 'true' ? true : lower === 'false' ? false : lower;
    if (typeof truth !== 'boolean') throw faulty(`${leaf.name} is compared with true or false`);
    if (op !== 'eq' && op !== 'ne') throw faulty(`${leaf.name} is compared by eq and ne`);
    return truth;
  }
  if (leaf.type !== 'complex' && typeof value !== 'string')
    throw faulty(`${leaf.name} is compared with a text`);
  return value;
}

function faulty(detail: string) {
  return wrong('invalidFilter', `filter: ${detail}`);
}
