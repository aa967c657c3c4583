// Lakera Guard (Lakera API, "guard" v2).
import { text } from '../contract/fields.ts';
import { credentials, endpoint, key } from './fields.ts';
import { definePartner, unreadable } from './partner.ts';

/** What the project's policy flags. */
export const lakeraGuard = definePartner({
  id: 'lakera.guard',
  aliases: ['lakera.scan'],
  fields: { credentials: credentials({ apiKey: key, endpoint }), projectId: text(256) },
  ask: (value, { projectId, credentials: { apiKey, endpoint: base } }, { event }) => ({
    url: `${base?.replace(/\/+$/, '') ?? 'https://api.lakera.ai'}/v2/guard`,
    headers: { authorization: `Bearer ${apiKey}` },
    body: {
      messages: [{ role: event === 'input' ? 'user' : 'assistant', content: value }],
      ...(projectId === undefined ? {} : { project_id: projectId }),
      breakdown: true,
    },
  }),
  judge({ flagged, breakdown }) {
    if (typeof flagged !== 'boolean') throw unreadable('lakera.guard', 'flagged');
    return { verdict: !flagged, data: { flagged, breakdown: breakdown ?? null } };
  },
});
