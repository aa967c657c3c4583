// Checks that want a whole text in one case. What has no case (digits, signs, many scripts) fits both.
import { examinedTexts } from '../view/examined.ts';
import type { Check } from './check.ts';
import { defineCheck } from './define.ts';
import { flag } from './fields.ts';
import { judge } from './judge.ts';

/** Makes the check. @param convert the text in the wanted case */
export function letterCaseCheck(
  id: string,
  alias: string,
  word: string,
  convert: (text: string) => string,
): Check {
  return defineCheck({
    id,
    aliases: [alias],
    events: ['input', 'output'],
    fields: { not: flag() },
    reach: ({ not }) => (not ? 'whole' : 'window'),
    run: (context, { not }) =>
      judge(examinedTexts(context, false), not, (text) => {
        const found = text === convert(text);
        return {
          found,
          data: {},
          explain: () => `The text is ${found ? '' : 'not '}all in ${word} case.`,
        };
      }),
  });
}
