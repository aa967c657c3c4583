// default.contains: any, all or none of some words or phrases are in the text. Upper and lower case matter.
import { defineCheck } from './contract/define.ts';
import { texts as listOfTexts, oneOf, required } from './contract/fields.ts';
import { judge, OPERATORS, satisfies } from './contract/judge.ts';
import { examinedTexts } from './view/examined.ts';

/** Steps that a search may take on the event loop; a longer one goes to the sandbox. */
const MOST_STEPS = 4_000_000;

export const contains = defineCheck({
  id: 'default.contains',
  events: ['input', 'output'],
  fields: { words: required(listOfTexts({ commas: true })), operator: required(oneOf(OPERATORS)) },
  reach: ({ operator }) => (operator === 'none' ? 'window' : 'whole'),
  span: ({ words }) => Math.max(...words.map(({ length }) => length)),
  async run(context, { words, operator }, { sandbox }) {
    const texts = examinedTexts(context, true);
    const total = (list: readonly string[]) => list.reduce((sum, { length }) => sum + length, 0);
    // The worst that a search can take is the product of the lengths.
    const small = total(texts) * total(words) <= MOST_STEPS;
    const hits = small
      ? texts.map((text) => words.filter((word) => text.includes(word)))
      : await sandbox.includes(context.traffic.tenant, words, texts);
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
