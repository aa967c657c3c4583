// What the playground asks, and the call that it makes of it.
import { session } from '../api.ts';
import { arrayOf, objectOf } from '../fields.tsx';
import type { ModelCall } from '../run.ts';

/** To whom. */
export interface Target {
  readonly provider: string;
  readonly providerKey: string;
  readonly baseUrl: string;
  readonly model: string;
}

/** What is asked of each target. */
export interface Asked {
  readonly workspace: string;
  readonly system: string;
  /** JSON of the messages before the last one; empty: none. */
  readonly before: string;
  readonly message: string;
  /** JSON of the tools; empty: none. */
  readonly tools: string;
  /** JSON of further members of the request, e.g. `{"temperature": 0}`; empty: none. */
  readonly parameters: string;
  readonly maxTokens: string;
}

export const NOTHING: Asked = {
  workspace: '',
  system: '',
  before: '',
  message: '',
  tools: '',
  parameters: '',
  maxTokens: '',
};

/** Headers of a model call; what is left open is not sent. */
export function headersOf(
  { provider, providerKey, baseUrl }: Target,
  workspace: string,
): Record<string, string> {
  return {
    ...(provider && { 'x-gateway-provider': provider }),
    ...(providerKey && { authorization: `Bearer ${providerKey}` }),
    ...(baseUrl && { 'x-gateway-custom-host': baseUrl }),
    ...(session.value?.workspaceId === '' && { 'x-gateway-workspace-id': workspace }),
  };
}

/** The conversation. @throws Error that names the field at fault */
export function messagesOf({ system, before, message }: Asked): readonly unknown[] {
  return [
    ...(system.trim() === '' ? [] : [{ role: 'system', content: system }]),
    ...arrayOf('Conversation before', before),
    { role: 'user', content: message },
  ];
}

/** Members next to the messages. @throws Error that names the field at fault */
export function parametersOf({ tools, parameters, maxTokens }: Asked): Readonly<Record<string, unknown>> {
  const given = arrayOf('Tools', tools);
  const most = Number(maxTokens);
  if (maxTokens !== '' && !(Number.isInteger(most) && most > 0))
    throw new Error('Max tokens: must be a whole number from 1');
  return {
    ...objectOf('Parameters', parameters),
    ...(given.length > 0 && { tools: given }),
    ...(maxTokens !== '' && { max_tokens: most }),
  };
}

/** @throws Error that names the field at fault */
export function callOf(asked: Asked, target: Target): ModelCall {
  const { model } = target;
  return {
    path: '/chat/completions',
    headers: headersOf(target, asked.workspace),
    body: { ...parametersOf(asked), ...(model && { model }), messages: messagesOf(asked) },
  };
}
