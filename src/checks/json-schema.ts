// default.jsonSchema: some JSON in the text is valid by a JSON Schema (2020-12, 2019-09, draft-07 or draft-06).
import { defineCheck } from './contract/define.ts';
import { flag, object, required } from './contract/fields.ts';
import { judge } from './contract/judge.ts';
import { requireSchema } from './contract/schema.ts';
import { examinedTexts } from './view/examined.ts';

export const jsonSchema = defineCheck({
  id: 'default.jsonSchema',
  events: ['input', 'output'],
  fields: { schema: required(object()), not: flag() },
  validate: ({ schema }, fault) => requireSchema(schema, 'schema', fault),
  async run(context, { schema, not }, { sandbox }) {
    const texts = await examinedTexts(context, true, sandbox);
    const results = await sandbox.validate(context.traffic, schema, texts);
    return judge(texts, not, (_, index) => {
      const { found = false, valid = false, matched = null, violations = [] } = results[index] ?? {};
      return {
        found: valid,
        data: { matchedJson: matched, validationErrors: violations },
        explain: () =>
          found
            ? `The JSON found ${valid ? 'matches' : 'does not match'} the schema.`
            : 'No valid JSON found in the text.',
      };
    });
  },
});
