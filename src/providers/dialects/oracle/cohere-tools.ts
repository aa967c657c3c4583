// Tools of Cohere's models at Oracle ("CohereTool", "CohereToolCall", "CohereToolResult"): parameters as a flat list with
// Python's types, and calls without ids.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { ChatMessage, Tool, ToolCall } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { InnerJson } from '../../inner-json.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';

const PYTHON: Readonly<Record<string, string>> = Object.freeze({
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
});
/** Members of a schema that the format has a place for. */
const SAID = ['type', 'description'];

/** A function as the format has it. @throws GatewayError `validation_failed` for a tool that is none */
export function cohereTool({ type, function: definition }: Tool, i: number): JsonObject {
  if (type !== 'function') throw invalidField(`tools[${i}].type`, 'must be "function" with this model');
  if (definition === undefined) throw invalidField(`tools[${i}].function`, 'is required');
  const { name, description = '', parameters } = definition;
  const properties = Object.entries(objectOf(parameters?.properties) ?? {});
  const required = arrayOf(parameters?.required);
  return {
    name,
    description,
    parameterDefinitions: Object.fromEntries(
      properties.map(([key, schema]) => [key, parameterOf(schema, required.includes(key))]),
    ),
  };
}

/** What the format has no member for stands in the description, as JSON Schema: the model reads it there. */
function parameterOf(value: JsonValue, isRequired: boolean): JsonObject {
  const schema = objectOf(value) ?? {};
  const known = arrayOf(schema.type).length === 0 ? textOf(schema.type) : undefined;
  const rest = Object.entries(schema).filter(([name]) => !SAID.includes(name) || (name === 'type' && !known));
  const words = textOf(schema.description);
  const more = rest.length === 0 ? undefined : `JSON Schema: ${JSON.stringify(Object.fromEntries(rest))}`;
  const description = [words, more].filter((text) => text !== undefined).join(' ');
  return {
    type: (known !== undefined && Object.hasOwn(PYTHON, known) ? PYTHON[known] : undefined) ?? 'str',
    ...(description === '' ? {} : { description }),
    isRequired,
  };
}

/** The calls of a conversation and what came of them. A result repeats its call: each time it counts anew. */
export class CohereTools {
  readonly #inner = new InnerJson();
  /** The calls of the messages so far, by their ids; of several the latest. */
  readonly #calls = new Map<string, { readonly call: ToolCall; readonly path: string }>();

  /** A call in the history. @param path of the call @throws GatewayError for arguments that are no object */
  call(call: ToolCall, path: string): JsonObject {
    if (call.id !== undefined) this.#calls.set(call.id, { call, path });
    return this.#json(call, path);
  }

  /**
   * A tool's result with the call that it is of.
   * @param output the result's text; an object's JSON is that object
   * @param i of the message
   * @throws GatewayError `validation_failed` for a result of no call
   */
  result({ toolCallId: id = '' }: ChatMessage, output: string, i: number): JsonObject {
    const found = this.#calls.get(id);
    if (found === undefined)
      throw invalidField(`messages[${i}].tool_call_id`, 'must name a call of a message before it');
    return {
      call: this.#json(found.call, found.path),
      outputs: [this.#inner.object(output) ?? { output }],
    };
  }

  #json({ function: called }: ToolCall, path: string): JsonObject {
    return {
      name: called?.name ?? '',
      parameters: this.#inner.arguments(called?.arguments ?? '', `${path}.function.arguments`),
    };
  }
}

/** Calls of an answer, under ids of ours. @param from calls of the answer that came before */
export function calledTools(calls: JsonValue | undefined, prefix: string, from = 0) {
  return arrayOf(calls)
    .filter(isObject)
    .slice(from)
    .map(({ name, parameters }, i) => ({
      id: `call_${prefix}_${from + i}`,
      type: 'function',
      function: { name: textOf(name) ?? '', arguments: JSON.stringify(objectOf(parameters) ?? {}) },
    }));
}
