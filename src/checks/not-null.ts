// default.notNull: there is an answer, and more than white space. A tool call is one.
import { defineCheck } from './contract/define.ts';
import { flag } from './contract/fields.ts';
import { judge } from './contract/judge.ts';
import { examinedTexts } from './view/examined.ts';

export const notNull = defineCheck({
  id: 'default.notNull',
  events: ['input', 'output'],
  fields: { not: flag() },
  run(context, { not }) {
    const contents = examinedTexts({ ...context, beside: false }, false);
    return judge(examinedTexts(context, true), not, (text, index) => {
      const isNull = text.trim() === '';
      const contentType = isNull ? 'null' : contents[index]?.trim() === '' ? 'tool_calls' : 'text';
      return {
        found: !isNull,
        data: { isNull, contentType },
        explain: () => (isNull ? 'The content is null or empty.' : 'The content is not null.'),
      };
    });
  },
});
