// A prompt, its variables and the call's own parameters: the body of a chat or text completion.
import { invalidField } from '../lib/errors.ts';
import type { JsonObject } from '../store/collection.ts';
import { type CompiledPrompt, splitParameters } from './compiled-prompt.ts';
import type { Template } from './template/nodes.ts';
import { render } from './template/render.ts';

/** What a call gives. */
export interface PromptInput {
  readonly variables: Readonly<Record<string, string>>;
  /** Members of the model call that go before the template's; null removes one. */
  readonly parameters: JsonObject;
}

/** A body, and which operation's it is. */
export interface BuiltRequest {
  readonly operation: 'chat' | 'completions';
  readonly json: Record<string, unknown>;
}

/** Members that say something else here than in a model call. */
const REFUSED: Readonly<Record<string, string>> = {
  messages: 'comes from the template',
  prompt: 'comes from the template',
  config: 'is a header of the call, not a member of its body',
};

/** @throws GatewayError validation_failed with every missing variable, or naming the member that cannot be given */
export function buildRequest(
  prompt: CompiledPrompt,
  partials: ReadonlyMap<string, Template>,
  { variables, parameters }: PromptInput,
): BuiltRequest {
  for (const [name, why] of Object.entries(REFUSED))
    if (Object.hasOwn(parameters, name)) throw invalidField(name, why);
  const { content, template, isChat } = prompt;
  const split = splitParameters(prompt, partials);
  const text = render(template, {
    variables: { ...split.defaults, ...variables },
    partials,
    form: isChat ? 'json' : 'text',
  });
  const { messages: _, prompt: __, ...own } = split.parameters;
  const merged: [string, unknown][] = [
    ['model', content.model],
    ...(isChat
      ? ([
          ['messages', messagesOf(text)],
          ['functions', content.functions],
          ['tools', content.tools],
          ['tool_choice', content.toolChoice],
        ] as const)
      : ([['prompt', text]] as const)
    ).map(([name, value]): [string, unknown] => [name, value]),
    ...Object.entries(own),
    ...Object.entries(parameters),
  ];
  const json: Record<string, unknown> = {};
  for (const [name, value] of merged) {
    if (value === null) delete json[name];
    else if (value !== undefined) define(json, name, value);
  }
  return { operation: isChat ? 'chat' : 'completions', json };
}

/** A variable may stand for several messages: what is a list within the list becomes a part of it. */
function messagesOf(text: string): unknown[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    throw invalidField(
      'string',
      `the template is no JSON when it is filled in: ${why.slice(0, 200)}`,
      'json',
    );
  }
  if (!Array.isArray(json))
    throw invalidField('string', 'the template must become an array of messages', 'json');
  return json.flat();
}

/** Defined, not assigned: a member named __proto__ stays a member. */
function define(json: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(json, name, { value, enumerable: true, configurable: true, writable: true });
}
