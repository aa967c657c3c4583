// A streamed answer put together in the form of its API, for checks that want the body of an answer.
import type { Api, JsonObject } from '../view/traffic.ts';
import type { Channel } from './channel.ts';

/** The answer made of the texts of a number of choices. It holds nothing else of the stream (ids, usage). */
export function answerOf(
  channels: readonly Channel[],
  units: readonly number[],
  api: Api = 'chat',
): JsonObject {
  if (api === 'messages') return { type: 'message', role: 'assistant', content: channels.map(blockOf) };
  return {
    object: 'chat.completion',
    choices: units.map((unit) => {
      const own = channels.filter((channel) => channel.unit === unit);
      const textOf = (kind: string) => own.find((channel) => channel.kind === kind)?.soFar;
      const calls = own.filter(({ kind }) => kind === 'tool_call');
      const reasoning = textOf('reasoning');
      return {
        index: unit,
        message: {
          role: 'assistant',
          content: textOf('content') ?? null,
          ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map(({ name, soFar }) => ({
                  type: 'function',
                  function: { name, arguments: soFar },
                })),
              }),
        },
      };
    }),
  };
}

/** One of Anthropic's blocks. */
function blockOf({ kind, name, soFar }: Channel): JsonObject {
  if (kind === 'reasoning') return { type: 'thinking', thinking: soFar };
  return kind === 'content'
    ? { type: 'text', text: soFar }
    : { type: 'tool_use', name, input: inputOf(soFar) };
}

function inputOf(text: string): unknown {
  try {
    return JSON.parse(text || '{}');
  } catch {
    return text;
  }
}
