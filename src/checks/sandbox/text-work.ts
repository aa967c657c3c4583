// What checks compute of a text alone. Pure and linear; short texts on the event loop, longer ones in a worker.
import { plainStrings } from '../view/plain-strings.ts';
import { countCharacters } from './text/characters.ts';
import { fencedLanguages } from './text/fences.ts';
import { countSentences } from './text/sentences.ts';
import { urlsIn } from './text/urls.ts';
import { countWords } from './text/words.ts';

/** URLs of one text that are given back. */
const MOST_URLS = 51;

/** By name: what it gives for a text, and its steps (see TurnBudget) for one character at worst. */
export const TEXT_WORK = {
  words: { steps: 40, run: countWords },
  sentences: { steps: 60, run: countSentences },
  characters: { steps: 4, run: countCharacters },
  isLowerCase: { steps: 10, run: (text: string) => text === text.toLowerCase() },
  isUpperCase: { steps: 10, run: (text: string) => text === text.toUpperCase() },
  isBlank: { steps: 4, run: (text: string) => text.trim() === '' },
  fences: { steps: 60, run: fencedLanguages },
  urls: { steps: 60, run: (text: string) => urlsIn(text, MOST_URLS) },
  /** Of JSON as text: the strings in it, without their escapes. */
  plainStrings: { steps: 60, run: plainStrings },
} as const;

export type TextWork = keyof typeof TEXT_WORK;
export type TextResult<W extends TextWork> = ReturnType<(typeof TEXT_WORK)[W]['run']>;

/** The work over each text. */
export function examine<W extends TextWork>(work: W, texts: readonly string[]): TextResult<W>[] {
  const run = TEXT_WORK[work].run as (text: string) => TextResult<W>;
  return texts.map((text) => run(text));
}
