// Replacing what a pattern finds, in texts and in the strings of JSON.
import { CheckFailure } from '../contract/failure.ts';
import { stringsIn } from '../view/strings-in.ts';
import type { Pattern, Replaceable, Replaced } from './patterns.ts';

/** Characters of all replaced texts together. */
const LONGEST_RESULT = 8_388_608;

/** Each text with its matches replaced. @throws CheckFailure InputTooLongError when the result is too long */
export function replaceAll(
  compile: () => RegExp,
  { flags }: Pattern,
  texts: readonly Replaceable[],
  by: string,
): Replaced[] {
  let length = 0;
  /** Compiled anew for every use: the flags g and y leave a place in the pattern. */
  const one = (text: string): Replaced => {
    let count = 0;
    if (!flags.includes('g')) count = compile().test(text) ? 1 : 0;
    else for (const _ of text.matchAll(compile())) count++;
    const replaced = count === 0 ? text : text.replace(compile(), by);
    length += replaced.length;
    if (length <= LONGEST_RESULT) return { text: replaced, count };
    throw new CheckFailure(
      'InputTooLongError',
      `the replaced text has more than ${LONGEST_RESULT} characters`,
    );
  };
  return texts.map(({ text, json }) => {
    const root = json ? parse(text) : undefined;
    if (typeof root !== 'object' || root === null) return one(text);
    let count = 0;
    for (const leaf of stringsIn(root)) {
      const replaced = one(leaf.text);
      count += replaced.count;
      if (replaced.text !== leaf.text) leaf.put(replaced.text);
    }
    return { text: count === 0 ? text : JSON.stringify(root), count };
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
