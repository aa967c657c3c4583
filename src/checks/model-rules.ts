// default.modelRules: the model asked for is allowed for the caller's metadata; models of all rules that apply count,
// the defaults when none applies.
import { defineCheck } from './contract/define.ts';
import { defaulted, flag, group, mapOf, required, texts } from './contract/fields.ts';
import { askedModel, meansModel } from './contract/models.ts';

const models = () => texts({ commas: true });

export const modelRules = defineCheck({
  id: 'default.modelRules',
  events: ['input'],
  fields: {
    rules: required(
      group({
        defaults: defaulted(texts({ least: 0, commas: true }), []),
        metadata: defaulted(mapOf(required(mapOf(required(models())))), {}),
      }),
    ),
    not: flag(),
  },
  validate({ rules }, fault) {
    const empty = rules.defaults.length === 0 && Object.keys(rules.metadata).length === 0;
    if (empty) fault('rules', 'must hold defaults or rules by metadata');
  },
  run(context, { rules, not }) {
    const { metadata } = context.traffic;
    const matched = Object.entries(rules.metadata).flatMap(([key, byValue]) => {
      const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
      const allowed = value !== undefined && Object.hasOwn(byValue, value) ? byValue[value] : undefined;
      return allowed === undefined ? [] : [{ rule: `${key}:${value}`, allowed }];
    });
    const allowedModels =
      matched.length > 0 ? [...new Set(matched.flatMap(({ allowed }) => allowed))] : rules.defaults;
    const asked = askedModel(context);
    const listed = asked !== undefined && allowedModels.some((entry) => meansModel(entry, asked));
    const verdict = listed !== not;
    return {
      verdict,
      data: {
        requestedModel: asked?.model ?? null,
        allowedModels,
        matchedRules: matched.map(({ rule }) => rule),
        usingDefaults: matched.length === 0,
        not,
        verdict,
        explanation: `Model "${asked?.model ?? ''}" is ${verdict ? 'allowed' : 'not allowed'} by the rules.`,
      },
    };
  },
});
