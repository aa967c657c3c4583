// default.jsonKeys: JSON in the text has any, all or none of some keys at its top level.
import { defineCheck } from './contract/define.ts';
import { texts as listOfTexts, oneOf, required } from './contract/fields.ts';
import { judge, OPERATORS, type Operator, satisfies } from './contract/judge.ts';
import type { FoundJson } from './sandbox/sandbox.ts';
import { examinedTexts } from './view/examined.ts';

export const jsonKeys = defineCheck({
  id: 'default.jsonKeys',
  events: ['input', 'output'],
  fields: { keys: required(listOfTexts({ commas: true })), operator: required(oneOf(OPERATORS)) },
  async run(context, { keys, operator }, { sandbox }) {
    const texts = await examinedTexts(context, true, sandbox);
    const values = await sandbox.find(context.traffic, texts, keys);
    return judge(texts, false, (_, index) => {
      const { found, matched, present } = best(values[index] ?? [], keys, operator);
      const missing = keys.filter((key) => !present.includes(key));
      return {
        found,
        data: {
          matchedJson: matched,
          presentKeys: present,
          missingKeys: missing,
          requiredKeys: keys,
          operator,
        },
        explain: (verdict) =>
          matched === null
            ? 'No valid JSON found in the text.'
            : `Check ${verdict ? 'passed' : 'failed'} for '${operator}' keys. Found: [${present.join(', ')}]; missing: [${missing.join(', ')}].`,
      };
    });
  },
});

/** For `any` and `all` the first object that satisfies, else the one with most keys; for `none` every object must. */
function best(values: readonly FoundJson[], keys: readonly string[], operator: Operator) {
  const judged = values.flatMap(({ present, value }) =>
    present === undefined
      ? []
      : [{ found: satisfies(operator, present.length, keys.length), matched: value, present }],
  );
  const nothing = { found: false, matched: null, present: [] as readonly string[] };
  if (operator === 'none') return judged.find(({ found }) => !found) ?? judged[0] ?? nothing;
  const most = judged.toSorted((a, b) => b.present.length - a.present.length)[0];
  return judged.find(({ found }) => found) ?? most ?? nothing;
}
