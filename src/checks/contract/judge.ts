// One verdict over several texts: every choice of an answer must pass by itself, since a caller may show any of them.
import type { JsonObject } from '../view/traffic.ts';
import type { CheckOutcome } from './check.ts';

/** What a check finds about one text, before `not` turns it round. */
export interface Finding {
  readonly found: boolean;
  readonly data: JsonObject;
  /** In words, once the verdict is known. */
  explain(verdict: boolean): string;
}

const EXCERPT = 100;

/** The beginning of a text, for a person to recognise it. */
export function excerptOf(text: string): string {
  return text.length > EXCERPT ? `${text.slice(0, EXCERPT)}...` : text;
}

/**
 * The outcome: what was found about the first text that fails, else about the first.
 * @param not turns every verdict round
 */
export function judge(
  texts: readonly string[],
  not: boolean,
  find: (text: string, index: number) => Finding,
): CheckOutcome {
  let shown: { readonly index: number; readonly verdict: boolean; readonly finding: Finding } | undefined;
  for (const [index, text] of texts.entries()) {
    const finding = find(text, index);
    const verdict = finding.found !== not;
    if (shown === undefined || !verdict) shown = { index, verdict, finding };
    if (!verdict) break;
  }
  if (shown === undefined) return { verdict: !not, data: null };
  const { index, verdict, finding } = shown;
  return {
    verdict,
    data: {
      ...finding.data,
      not,
      verdict,
      explanation: finding.explain(verdict),
      textExcerpt: excerptOf(texts[index] ?? ''),
      ...(texts.length > 1 ? { choice: index } : {}),
    },
  };
}

/** Any, all or none of a list: whether what was found satisfies the operator. */
export type Operator = 'any' | 'all' | 'none';
export const OPERATORS = ['any', 'all', 'none'] as const;

export function satisfies(operator: Operator, found: number, wanted: number): boolean {
  switch (operator) {
    case 'any':
      return found > 0;
    case 'all':
      return found === wanted;
    case 'none':
      return found === 0;
  }
}
