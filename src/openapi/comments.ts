// The protos' comments as the document's text.
import type { AnyDesc, DescFile } from '@bufbuild/protobuf';
import { getComments } from '@bufbuild/protoplugin';

type Described = Exclude<AnyDesc, DescFile>;

/** A comment as Markdown: lines of a paragraph joined, lists and empty lines kept. Empty when there is none. */
export function commentOf(desc: Described): string {
  const { leading, trailing } = getComments(desc);
  return unwrap(leading ?? trailing ?? '');
}

/** The comment's first sentence, without its full stop. */
export function summaryOf(comment: string): string {
  const [paragraph = ''] = comment.split('\n', 1);
  const [, sentence = paragraph] = /^(.*?[.:])(?: [A-Z`"]|$)/.exec(paragraph) ?? [];
  return sentence.replace(/[.:]$/, '');
}

/** Paragraphs with an empty line between them; empty ones are left out. */
export function paragraphs(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

function unwrap(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replace(/^ /, '').trimEnd());
  let text = '';
  for (const line of lines) {
    const starts = line === '' || /^(?:[-*] | {2,})/.test(line);
    if (text !== '') text += starts || text.endsWith('\n') ? '\n' : ' ';
    text += line;
  }
  return text.trim();
}
