// default.regexMatch: a pattern is found in the text.
import { defineCheck } from './contract/define.ts';
import { flag, required, text } from './contract/fields.ts';
import { judge } from './contract/judge.ts';
import { LONGEST_PATTERN, looksAround, requirePattern } from './contract/pattern.ts';
import { examinedTexts } from './view/examined.ts';

export const regexMatch = defineCheck({
  id: 'default.regexMatch',
  events: ['input', 'output'],
  fields: { rule: required(text(LONGEST_PATTERN)), not: flag() },
  validate: ({ rule }, fault) => requirePattern({ source: rule, flags: '' }, 'rule', fault),
  reach: ({ rule, not }) => (not ? (looksAround(rule) ? 'edge' : 'window') : 'whole'),
  async run(context, { rule, not }, { sandbox }) {
    const texts = await examinedTexts(context, true, sandbox, not);
    const matches = await sandbox.match(context.traffic, { source: rule, flags: '' }, texts, not);
    return judge(texts, not, (_, index) => {
      const match = matches[index] ?? null;
      return {
        found: match !== null,
        data: {
          regexPattern: rule,
          matchDetails: match && {
            matchedText: match.text,
            index: match.at,
            groups: match.groups,
            captures: match.captures,
          },
        },
        explain: (verdict) =>
          `The regex pattern '${rule}' ${match ? 'matched' : 'did not match'} the text${verdict ? '' : `, which it should ${not ? 'not' : ''}`.trimEnd()}.`,
      };
    });
  },
});
