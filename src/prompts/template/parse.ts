// Mustache without logic: {{name}}, {{{name}}}, {{&name}}, {{#section}}…{{/section}}, {{^inverted}}…{{/inverted}},
// {{! comment }} and {{>partial}}. Source: mustache(5). Other delimiters are refused: templates are stored, and
// readers must recognise a tag without context. Tags of sections and comments that are alone on a line leave none.
import { type GatewayError, invalidField } from '../../lib/errors.ts';
import type { Node, Path, Template } from './nodes.ts';

/** In UTF-16 units. */
export const MAX_SOURCE = 262_144;
const MAX_TAGS = 10_000;
/** Sections within sections. */
const MAX_NESTING = 32;
const MAX_NAME = 255;
const PART = /^[\p{L}\p{N}_$@-](?:[\p{L}\p{N}_$@ -]*[\p{L}\p{N}_$@-])?$/u;
const PARTIAL = /^[A-Za-z0-9_-]{1,255}(?:@(?:latest|[1-9]\d{0,8}))?$/;
const REST_OF_LINE = /[ \t]*(?:\r?\n|$)/y;

interface Open {
  readonly name: string;
  readonly path: Path;
  readonly inverted: boolean;
  readonly nodes: Node[];
  readonly at: number;
}

/**
 * Reads a template.
 * @param field the request's field, for refusals
 * @throws GatewayError validation_failed with the line at fault.
 */
export function parseTemplate(source: string, field: string): Template {
  if (source.length > MAX_SOURCE)
    throw invalidField(field, `must have at most ${MAX_SOURCE} characters`, 'max_len');
  const wrong = (at: number, message: string): GatewayError =>
    invalidField(field, `line ${lineOf(source, at)}: ${message}`, 'template');
  const root: Node[] = [];
  const open: Open[] = [];
  const nodes = (): Node[] => open.at(-1)?.nodes ?? root;
  const text = (from: number, to: number): void => {
    if (to > from) nodes().push({ kind: 'text', text: source.slice(from, to) });
  };
  let from = 0;
  for (let tags = 0; ; tags++) {
    const at = source.indexOf('{{', from);
    if (at === -1) break;
    if (tags === MAX_TAGS) throw wrong(at, `a template has at most ${MAX_TAGS} tags`);
    const tag = readTag(source, at, wrong);
    const line = tag.alone ? wholeLine(source, from, at, tag.end) : undefined;
    text(from, line?.from ?? at);
    from = line?.to ?? tag.end;
    switch (tag.kind) {
      case 'comment':
        break;
      case 'partial':
        if (!PARTIAL.test(tag.name)) throw wrong(at, `${shown(tag.name)} is no name of a partial`);
        nodes().push({ kind: 'partial', name: tag.name });
        break;
      case 'value':
        nodes().push({ kind: 'value', path: pathOf(tag.name, () => wrong(at, unnamed(tag.name))) });
        break;
      case 'close': {
        const section = open.pop();
        if (section === undefined) throw wrong(at, `${shown(tag.name)} is closed and was not opened`);
        if (section.name !== tag.name)
          throw wrong(at, `${shown(tag.name)} is closed where ${shown(section.name)} is open`);
        const { path, inverted, nodes: inner } = section;
        nodes().push({ kind: 'section', path, inverted, nodes: inner });
        break;
      }
      case 'section': {
        if (open.length === MAX_NESTING) throw wrong(at, `sections are nested at most ${MAX_NESTING} deep`);
        const path = pathOf(tag.name, () => wrong(at, unnamed(tag.name)));
        open.push({ name: tag.name, path, inverted: tag.inverted, nodes: [], at });
      }
    }
  }
  const left = open.at(-1);
  if (left !== undefined) throw wrong(left.at, `${shown(left.name)} is opened and not closed`);
  text(from, source.length);
  return { nodes: root };
}

interface Tag {
  readonly kind: 'value' | 'section' | 'close' | 'partial' | 'comment';
  readonly name: string;
  readonly inverted: boolean;
  /** Where the text goes on. */
  readonly end: number;
  /** Whether it takes its line along when nothing else is on it. */
  readonly alone: boolean;
}

const KINDS: Readonly<Record<string, Tag['kind']>> = {
  '#': 'section',
  '^': 'section',
  '/': 'close',
  '>': 'partial',
  '!': 'comment',
  '&': 'value',
  '{': 'value',
};

function readTag(source: string, at: number, wrong: (at: number, message: string) => Error): Tag {
  const sigil = source[at + 2] ?? '';
  if (sigil === '=') throw wrong(at, 'other delimiters cannot be set');
  const kind = KINDS[sigil];
  const close = sigil === '{' ? '}}}' : '}}';
  const begin = at + (kind === undefined ? 2 : 3);
  const end = source.indexOf(close, begin);
  if (end === -1) throw wrong(at, `a tag is opened and not closed with ${close}`);
  const inner = source.slice(begin, end);
  return {
    kind: kind ?? 'value',
    name: kind === 'comment' ? '' : inner.trim(),
    inverted: sigil === '^',
    end: end + close.length,
    alone: kind === 'section' || kind === 'close' || kind === 'comment',
  };
}

/** The whole line of a tag when only blanks surround the tag. */
function wholeLine(
  source: string,
  from: number,
  at: number,
  end: number,
): { readonly from: number; readonly to: number } | undefined {
  let start = at;
  while (start > from && (source[start - 1] === ' ' || source[start - 1] === '\t')) start--;
  if (start > 0 && source[start - 1] !== '\n') return undefined;
  REST_OF_LINE.lastIndex = end;
  return REST_OF_LINE.test(source) ? { from: start, to: REST_OF_LINE.lastIndex } : undefined;
}

function pathOf(name: string, wrong: () => Error): Path {
  if (name === '.') return [];
  const parts = name.split('.').map((part) => part.trim());
  if (name.length > MAX_NAME || !parts.every((part) => PART.test(part))) throw wrong();
  return parts;
}

function unnamed(name: string): string {
  return name === ''
    ? 'a tag names nothing'
    : `${shown(name)} is no name: letters, digits, _, $, @, - and dots`;
}

function shown(name: string): string {
  return `"${name.length > 40 ? `${name.slice(0, 40)}…` : name}"`;
}

function lineOf(source: string, at: number): number {
  let line = 1;
  for (let i = source.indexOf('\n'); i !== -1 && i < at; i = source.indexOf('\n', i + 1)) line++;
  return line;
}
