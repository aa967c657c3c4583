// default.requiredMetadataKeyPairs: all, any or none of some metadata have the values wanted.
import { defineCheck } from './contract/define.ts';
import { defaulted, mapOf, oneOf, required } from './contract/fields.ts';
import { OPERATORS, satisfies } from './contract/judge.ts';
import { fitsValues, MATCH_TYPES, requireValues, valuesField } from './contract/match-values.ts';

export const requiredMetadataKeyPairs = defineCheck({
  id: 'default.requiredMetadataKeyPairs',
  aliases: ['default.requiredMetadataKeyValuePairs'],
  events: ['input'],
  fields: {
    metadataPairs: required(mapOf(valuesField)),
    operator: defaulted(oneOf(OPERATORS), 'all'),
    matchType: defaulted(oneOf(MATCH_TYPES), 'exact'),
  },
  validate({ metadataPairs, matchType }, fault) {
    const pairs = Object.entries(metadataPairs);
    if (pairs.length === 0) fault('metadataPairs', 'must not be empty');
    for (const [key, wanted] of pairs) requireValues(wanted, matchType, `metadataPairs.${key}`, fault);
  },
  async run({ traffic }, { metadataPairs, operator, matchType }, { sandbox }) {
    const [matched, unmatched]: [string[], string[]] = [[], []];
    for (const [key, wanted] of Object.entries(metadataPairs)) {
      const actual = Object.hasOwn(traffic.metadata, key) ? traffic.metadata[key] : undefined;
      const fits = actual !== undefined && (await fitsValues([actual], wanted, matchType, sandbox, traffic));
      (fits ? matched : unmatched).push(key);
    }
    const verdict = satisfies(operator, matched.length, matched.length + unmatched.length);
    return {
      verdict,
      data: {
        matched_metadata_keys: matched,
        unmatched_metadata_keys: unmatched,
        operator,
        matchType,
        verdict,
        explanation: `Check ${verdict ? 'passed' : 'failed'} for '${operator}' metadata pairs.`,
      },
    };
  },
});
