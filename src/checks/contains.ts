// default.contains: any, all or none of some words or phrases are in the text. Upper and lower case matter.
import { defineCheck } from './contract/define.ts';
import { texts as listOfTexts, oneOf, required } from './contract/fields.ts';
import { judge, OPERATORS, satisfies } from './contract/judge.ts';
import { examinedTexts } from './view/examined.ts';

export const contains = defineCheck({
  id: 'default.contains',
  events: ['input', 'output'],
  fields: { words: required(listOfTexts({ commas: true })), operator: required(oneOf(OPERATORS)) },
  reach: ({ operator }) => (operator === 'none' ? 'window' : 'whole'),
  span: ({ words }) => Math.max(...words.map(({ length }) => length)),
  async run(context, { words, operator }, { sandbox }) {
    const forbids = operator === 'none';
    const texts = await examinedTexts(context, true, sandbox, forbids);
    const hits = await sandbox.includes(context.traffic, words, texts, forbids);
    return judge(texts, false, (_, index) => {
      const foundWords = hits[index] ?? [];
      const missingWords = words.filter((word) => !foundWords.includes(word));
      return {
        found: satisfies(operator, foundWords.length, words.length),
        data: { foundWords, missingWords, operator },
        explain: (verdict) => `Check ${verdict ? 'passed' : 'failed'} for '${operator}' words.`,
      };
    });
  },
});
