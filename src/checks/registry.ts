// Every check that there is, one line each.
import { nearestNames } from '../lib/nearest-names.ts';
import { addPrefix } from './add-prefix.ts';
import { allLowercase } from './all-lowercase.ts';
import { allUppercase } from './all-uppercase.ts';
import { allowedRequestTypes } from './allowed-request-types.ts';
import { characterCount } from './character-count.ts';
import { contains } from './contains.ts';
import { containsCode } from './contains-code.ts';
import type { Check } from './contract/check.ts';
import { endsWith } from './ends-with.ts';
import { inlineImageUrls } from './inline-image-urls.ts';
import { jsonKeys } from './json-keys.ts';
import { jsonSchema } from './json-schema.ts';
import { jwt } from './jwt.ts';
import { log } from './log.ts';
import { modelRules } from './model-rules.ts';
import { modelWhitelist } from './model-whitelist.ts';
import { notNull } from './not-null.ts';
import { PARTNERS } from './partners/index.ts';
import { regexMatch } from './regex-match.ts';
import { regexReplace } from './regex-replace.ts';
import { requestParametersCheck } from './request-parameters-check.ts';
import { requiredMetadataKeyPairs } from './required-metadata-key-pairs.ts';
import { requiredMetadataKeys } from './required-metadata-keys.ts';
import { sentenceCount } from './sentence-count.ts';
import { validUrls } from './valid-urls.ts';
import { webhook } from './webhook.ts';
import { wordCount } from './word-count.ts';

/** All checks. */
export const CHECKS: readonly Check[] = [
  addPrefix,
  allLowercase,
  allUppercase,
  allowedRequestTypes,
  characterCount,
  contains,
  containsCode,
  endsWith,
  inlineImageUrls,
  jsonKeys,
  jsonSchema,
  jwt,
  log,
  modelRules,
  modelWhitelist,
  notNull,
  regexMatch,
  regexReplace,
  requestParametersCheck,
  requiredMetadataKeyPairs,
  requiredMetadataKeys,
  sentenceCount,
  validUrls,
  webhook,
  wordCount,
  ...PARTNERS,
];

const byId = new Map(
  CHECKS.flatMap((check) => [check.id, ...check.aliases].map((id) => [id.toLowerCase(), check] as const)),
);

/** A check by its id in any case; an id without a family is one of `default`. */
export function findCheck(id: string): Check | undefined {
  const lower = id.toLowerCase();
  return byId.get(lower.includes('.') ? lower : `default.${lower}`);
}

/** `; the nearest: …` of an id that there is not; ids are compared without the family that both have. */
export function nearChecks(id: string): string {
  const bare = id.replace(/^default\./i, '');
  const names = new Map(
    CHECKS.flatMap((check) =>
      [check.id, ...check.aliases].map((name) => [name.replace(/^default\./, ''), check.id] as const),
    ),
  );
  const near = nearestNames(bare, names.keys()).map((name) => names.get(name));
  return near.length === 0 ? '' : `; the nearest: ${[...new Set(near)].join(', ')}`;
}
