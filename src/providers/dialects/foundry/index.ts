// Azure AI Foundry's dialect: OpenAI's wire, or Anthropic's where the resource's address says so.
import type { Dialect, MessageJson, Target } from '../../dialect.ts';
import { isAnthropicFoundry } from '../../options/azure.ts';
import { sentHeaders } from '../../options/sent.ts';
import { createAnthropicDialect } from '../anthropic/index.ts';
import { createOpenAiDialect } from '../openai/index.ts';
import type { Chat } from '../translated-chat.ts';

const VERSION = Object.freeze(['anthropic-version', '2023-06-01']);

/** The dialect of Azure AI Foundry. */
export function createFoundryDialect(json: MessageJson): Dialect {
  const openai = createOpenAiDialect(json);
  const anthropic = createAnthropicDialect(json);
  const speaks = ({ options, customHost }: Target): Dialect =>
    isAnthropicFoundry(options.azure_foundry_url ?? customHost) ? anthropic : openai;
  const chatOf = (target: Target): Chat => speaks(target).chat as Chat;
  return Object.freeze({
    ...openai,
    name: 'foundry',
    chat: {
      request: (request, context) => chatOf(context.target).request(request, context),
      response: (body, request, context) => chatOf(context.target).response(body, request, context),
      streamRequest: (request, context) => chatOf(context.target).streamRequest(request, context),
      stream: (request, context) => chatOf(context.target).stream(request, context),
      wholeAsChunks: (openai.chat as Chat).wholeAsChunks,
    } satisfies Chat,
    headers: (target: Target) =>
      speaks(target) === anthropic ? [...VERSION, ...sentHeaders(target)] : sentHeaders(target),
  });
}
