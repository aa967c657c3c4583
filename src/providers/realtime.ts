// Where providers open realtime sessions.
import type { RealtimeWire } from './dialect.ts';

function query(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '');
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

/** OpenAI (API reference, "Realtime"), xAI ("Voice agent") and compatible services. */
export const OPENAI_REALTIME: RealtimeWire = {
  events: 'openai',
  path: (model) => `/realtime${query({ model })}`,
};

/** Azure OpenAI: by the v1 API with the deployment as the model, else by a dated version. */
export const AZURE_REALTIME: RealtimeWire = {
  events: 'openai',
  path(model, { azure_api_version: version, azure_deployment_id: deployment }) {
    const name = deployment ?? model;
    if (version === undefined || version === 'v1') return `/v1/realtime${query({ model: name })}`;
    return `/realtime${query({ 'api-version': version, deployment: name })}`;
  },
};

const GEMINI = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent';

/** Gemini's Live API: the model is in the first event. */
export const GEMINI_REALTIME: RealtimeWire = { events: 'gemini', path: () => GEMINI };
