// default.modelWhitelist: the model asked for is in a list; rules by metadata may stand in its place.
import { defineCheck } from './contract/define.ts';
import { flag, group, listOf, required, text, texts } from './contract/fields.ts';
import { askedModel, meansModel } from './contract/models.ts';

const RULE = group({
  metadataKey: required(text(200)),
  values: required(texts({ commas: true })),
  models: required(texts({ commas: true })),
});

export const modelWhitelist = defineCheck({
  id: 'default.modelWhitelist',
  events: ['input'],
  fields: { models: texts({ commas: true }), metadataRules: listOf(required(RULE)), not: flag() },
  validate({ models, metadataRules }, fault) {
    if (models === undefined && metadataRules === undefined) fault('models', 'is required');
  },
  run(context, { models = [], metadataRules = [], not }) {
    const { metadata } = context.traffic;
    const matched = metadataRules.filter(
      ({ metadataKey, values }) =>
        Object.hasOwn(metadata, metadataKey) && values.includes(metadata[metadataKey] ?? ''),
    );
    const allowedModels = matched.length > 0 ? [...new Set(matched.flatMap((rule) => rule.models))] : models;
    const asked = askedModel(context);
    const listed = asked !== undefined && allowedModels.some((entry) => meansModel(entry, asked));
    const verdict = listed !== not;
    return {
      verdict,
      data: {
        requestedModel: asked?.model ?? null,
        allowedModels,
        mode: metadataRules.length > 0 ? 'metadata_rules' : 'base_models',
        not,
        verdict,
        explanation: `Model "${asked?.model ?? ''}" is ${listed ? '' : 'not '}in the list.`,
      },
    };
  },
});
