// Checks that want a whole text in one case. What has no case (digits, signs, many scripts) fits both.
import { examinedTexts } from '../view/examined.ts';
import type { Check } from './check.ts';
import { defineCheck } from './define.ts';
import { flag } from './fields.ts';
import { judge } from './judge.ts';

/** Makes the check. */
export function letterCaseCheck(
  id: string,
  alias: string,
  word: string,
  work: 'isLowerCase' | 'isUpperCase',
): Check {
  return defineCheck({
    id,
    aliases: [alias],
    events: ['input', 'output'],
    fields: { not: flag() },
    reach: ({ not }) => (not ? 'whole' : 'window'),
    async run(context, { not }, { sandbox }) {
      const texts = await examinedTexts(context, false, sandbox);
      const fits = await sandbox.examine(context.traffic, work, texts);
      return judge(texts, not, (_, index) => {
        const found = fits[index] ?? false;
        return {
          found,
          data: {},
          explain: () => `The text is ${found ? '' : 'not '}all in ${word} case.`,
        };
      });
    },
  });
}
