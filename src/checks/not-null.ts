// default.notNull: there is an answer, and more than white space. A tool call is one.
import { defineCheck } from './contract/define.ts';
import { flag } from './contract/fields.ts';
import { judge } from './contract/judge.ts';
import { examinedTexts } from './view/examined.ts';

export const notNull = defineCheck({
  id: 'default.notNull',
  events: ['input', 'output'],
  fields: { not: flag() },
  async run(context, { not }, { sandbox }) {
    const contents = await examinedTexts({ ...context, beside: false }, false, sandbox);
    const texts = await examinedTexts(context, true, sandbox);
    const blank = await sandbox.examine(context.traffic, 'isBlank', texts);
    const withoutContent = await sandbox.examine(context.traffic, 'isBlank', contents);
    return judge(texts, not, (_, index) => {
      const isNull = blank[index] ?? true;
      const contentType = isNull ? 'null' : withoutContent[index] ? 'tool_calls' : 'text';
      return {
        found: !isNull,
        data: { isNull, contentType },
        explain: () => (isNull ? 'The content is null or empty.' : 'The content is not null.'),
      };
    });
  },
});
