// A version's content, read: its template, what it becomes, and which of its parameters are defaults of variables.
import { CreateChatCompletionRequestSchema } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { CreateCompletionRequestSchema } from '../../gen/gateway/inference/v2/completions_pb.ts';
import type { JsonObject } from '../store/collection.ts';
import type { PromptContent } from './prompt-collections.ts';
import { rootsOf } from './template/components.ts';
import type { Template } from './template/nodes.ts';
import { parseTemplate } from './template/parse.ts';

/** A content that can be rendered. */
export interface CompiledPrompt {
  readonly content: PromptContent;
  readonly template: Template;
  /** Whether it makes messages; else it makes a text. */
  readonly isChat: boolean;
}

/** Parameters by what they are for. */
export interface SplitParameters {
  /** Of the model call. */
  readonly parameters: JsonObject;
  /** Of variables. */
  readonly defaults: Readonly<Record<string, string>>;
}

/** @throws GatewayError validation_failed naming `string` */
export function compilePrompt(content: PromptContent): CompiledPrompt {
  return { content, template: parseTemplate(content.string, 'string'), isChat: makesMessages(content) };
}

/** Tells the parameters of the model call from the defaults of variables, which have the variables' names. */
export function splitParameters(
  { content, template, isChat }: CompiledPrompt,
  partials: ReadonlyMap<string, Template>,
): SplitParameters {
  const variables = new Set([template, ...partials.values()].flatMap((one) => [...rootsOf(one)]));
  const given = Object.entries(content.parameters ?? {});
  const schema = isChat ? CreateChatCompletionRequestSchema : CreateCompletionRequestSchema;
  // A variable may well be called "user": then the parameter is both.
  const known = new Set(schema.fields.map(({ name }) => name));
  return {
    parameters: Object.fromEntries(given.filter(([name]) => known.has(name) || !variables.has(name))),
    defaults: Object.fromEntries(
      given
        .filter(([name, value]) => variables.has(name) && value !== null)
        .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    ),
  };
}

/** The array that a text is; undefined when it is none. */
export function arrayOf(text: string): readonly unknown[] | undefined {
  if (!text.trimStart().startsWith('[')) return undefined;
  try {
    const json: unknown = JSON.parse(text);
    return Array.isArray(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Text such as "[INST] …" begins with a bracket, too: messages are an array of objects, or are declared as one. */
function makesMessages({ string, isRawTemplate }: PromptContent): boolean {
  if (isRawTemplate) return /^\s*[[{]/.test(string);
  const array = arrayOf(string);
  if (array !== undefined) return array.length > 0 && array.every(isObject);
  return /^\s*\[\s*\{\s*"/.test(string);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
