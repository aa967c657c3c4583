// default.endsWith: the text ends with a suffix; a full stop may follow it.
import { defineCheck } from './contract/define.ts';
import { flag, required, text } from './contract/fields.ts';
import { judge } from './contract/judge.ts';
import { examinedTexts } from './view/examined.ts';

export const endsWith = defineCheck({
  id: 'default.endsWith',
  events: ['input', 'output'],
  fields: { suffix: required(text(10_000)), not: flag() },
  run: async (context, { suffix, not }, { sandbox }) =>
    judge(await examinedTexts(context, false, sandbox), not, (examined) => {
      const found = examined.endsWith(suffix) || examined.endsWith(`${suffix}.`);
      return {
        found,
        data: { suffix },
        explain: () => `The text ${found ? 'ends' : 'does not end'} with "${suffix}".`,
      };
    }),
});
