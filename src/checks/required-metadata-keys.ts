// default.requiredMetadataKeys: the caller's metadata has all, any or none of some keys.
import { defineCheck } from './contract/define.ts';
import { defaulted, oneOf, required, texts } from './contract/fields.ts';
import { OPERATORS, satisfies } from './contract/judge.ts';

export const requiredMetadataKeys = defineCheck({
  id: 'default.requiredMetadataKeys',
  events: ['input'],
  fields: {
    metadataKeys: required(texts({ commas: true })),
    operator: defaulted(oneOf(OPERATORS), 'all'),
  },
  run({ traffic }, { metadataKeys, operator }) {
    const found = metadataKeys.filter((key) => Object.hasOwn(traffic.metadata, key));
    const missing = metadataKeys.filter((key) => !Object.hasOwn(traffic.metadata, key));
    const verdict = satisfies(operator, found.length, metadataKeys.length);
    return {
      verdict,
      data: {
        found_metadata_keys: found,
        missing_metadata_keys: missing,
        operator,
        verdict,
        explanation: `Check ${verdict ? 'passed' : 'failed'} for '${operator}' metadata keys.`,
      },
    };
  },
});
