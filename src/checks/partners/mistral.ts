// Mistral's moderation (Mistral API, "Moderations").
import { alias, defaulted, text, texts } from '../contract/fields.ts';
import { isObject } from '../contract/parameters.ts';
import { credentials, endpoint, key } from './fields.ts';
import { definePartner, unreadable } from './partner.ts';

/** The categories that are looked for; all where none is named. */
export const mistralModerateContent = definePartner({
  id: 'mistral.moderateContent',
  fields: {
    credentials: credentials({ apiKey: key, endpoint }),
    categories: alias(texts({ least: 0, most: 50 }), 'moderationCategories'),
    model: defaulted(text(256), 'mistral-moderation-latest'),
  },
  ask: (value, { model, credentials: { apiKey, endpoint: base } }) => ({
    url: `${base?.replace(/\/+$/, '') ?? 'https://api.mistral.ai'}/v1/moderations`,
    headers: { authorization: `Bearer ${apiKey}` },
    body: { model, input: [value] },
  }),
  judge({ results }, { categories }) {
    const [first] = Array.isArray(results) ? results : [];
    const found = isObject(first) ? first.categories : undefined;
    if (!isObject(found)) throw unreadable('mistral.moderateContent', 'categories');
    const wanted = categories === undefined || categories.length === 0 ? Object.keys(found) : categories;
    const flagged = wanted.filter((name) => found[name] === true);
    return { verdict: flagged.length === 0, data: { flaggedCategories: flagged } };
  },
});
