// Aporia's guardrails (Aporia, "REST API": POST /{project}/validate).
import { urlText } from '../../lib/url-text.ts';
import { alias, required, text } from '../contract/fields.ts';
import { credentials, endpoint, key } from './fields.ts';
import { definePartner, unreadable } from './partner.ts';

/** The project's policies; what they would rewrite fails, too. */
export const aporiaValidateProject = definePartner({
  id: 'aporia.validateProject',
  fields: {
    credentials: credentials({ apiKey: key, endpoint }),
    projectID: required(alias(text(256), 'projectId')),
  },
  ask(value, { projectID, credentials: { apiKey, endpoint: base } }, { event }) {
    const asked = event === 'input';
    return {
      url: `${base?.replace(/\/+$/, '') ?? 'https://gr-prd.aporia.com'}/${urlText(projectID)}/validate`,
      headers: { 'x-aporia-api-key': apiKey },
      body: {
        messages: [{ role: asked ? 'user' : 'assistant', content: value }],
        validation_target: asked ? 'prompt' : 'response',
        ...(asked ? {} : { response: value }),
        explain: true,
      },
    };
  },
  judge({ action, explain_log: log }) {
    if (typeof action !== 'string') throw unreadable('aporia.validateProject', 'action');
    return { verdict: action === 'passthrough', data: { action, explainLog: log ?? null } };
  },
});
