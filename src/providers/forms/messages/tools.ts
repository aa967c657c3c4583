// Tools and their choice in the chat form.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import type { Carries } from '../ability.ts';
import type { Lost } from './lost.ts';

/** Tools that Anthropic defines and the caller runs: their arguments, so that any model can call them. */
const CALLERS: readonly (readonly [RegExp, string, JsonObject])[] = [
  [
    /^bash_\d+$/,
    'Run a command in a persistent bash session',
    schema({ command: { type: 'string' }, restart: { type: 'boolean' } }, []),
  ],
  [
    /^text_editor_\d+$/,
    'View, create and edit text files',
    schema(
      {
        command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
        path: { type: 'string' },
        file_text: { type: 'string' },
        old_str: { type: 'string' },
        new_str: { type: 'string' },
        insert_line: { type: 'integer' },
        insert_text: { type: 'string' },
        view_range: { type: 'array', items: { type: 'integer' } },
      },
      ['command', 'path'],
    ),
  ],
  [
    /^memory_\d+$/,
    'Store and read files of a memory directory',
    schema(
      {
        command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
        path: { type: 'string' },
        file_text: { type: 'string' },
        old_str: { type: 'string' },
        new_str: { type: 'string' },
        insert_line: { type: 'integer' },
        insert_text: { type: 'string' },
        old_path: { type: 'string' },
        new_path: { type: 'string' },
        view_range: { type: 'array', items: { type: 'integer' } },
      },
      ['command'],
    ),
  ],
];

function schema(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required };
}

/** `tools`, `tool_choice` and `parallel_tool_calls`. */
export function toolMembers(body: JsonObject, carries: Carries, lost: Lost): JsonObject {
  const tools = arrayOf(body.tools).flatMap((tool, i) =>
    isObject(tool) ? toolOf(tool, `tools[${i}]`, carries, lost) : [],
  );
  const choice = objectOf(body.tool_choice);
  if (tools.length === 0) {
    if (choice !== undefined && choice.type !== 'auto' && choice.type !== 'none') lost.add('tool_choice');
    return {};
  }
  const asked = choice && choiceOf(choice, tools, lost);
  const members: JsonObject = { tools, ...(asked === undefined ? {} : { tool_choice: asked }) };
  if (choice?.disable_parallel_tool_use === true) {
    if (carries.oneTool) members.parallel_tool_calls = false;
    else lost.add('tool_choice.disable_parallel_tool_use');
  }
  return members;
}

function toolOf(tool: JsonObject, path: string, carries: Carries, lost: Lost): JsonObject[] {
  const { type, name, description, input_schema: parameters, strict, cache_control: mark, ...own } = tool;
  const kind = textOf(type) ?? 'custom';
  if (kind !== 'custom' && carries.own) return [tool];
  const known = kind === 'custom' ? undefined : CALLERS.find(([pattern]) => pattern.test(kind));
  if (kind !== 'custom' && known === undefined) {
    lost.add(`${path} (${kind})`);
    return [];
  }
  if (isObject(mark) && !carries.cacheControl) lost.add('tools[*].cache_control');
  if (!carries.own)
    for (const [member, value] of Object.entries(own)) if (says(value)) lost.add(`tools[*].${member}`);
  return [
    {
      type: 'function',
      function: {
        name: name ?? '',
        ...(typeof description === 'string' ? { description } : known ? { description: known[1] } : {}),
        parameters: isObject(parameters) ? parameters : (known?.[2] ?? schema({}, [])),
        ...(typeof strict === 'boolean' ? { strict } : {}),
      },
      ...(carries.own ? own : {}),
      ...(isObject(mark) && carries.cacheControl ? { cache_control: mark } : {}),
    },
  ];
}

function says(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== false;
}

function choiceOf(choice: JsonObject, tools: readonly JsonObject[], lost: Lost): JsonValue | undefined {
  switch (choice.type) {
    case 'any':
      return 'required';
    case 'none':
      return 'none';
    case 'tool': {
      const isThere = tools.some((tool) => (objectOf(tool.function)?.name ?? tool.name) === choice.name);
      if (isThere) return { type: 'function', function: { name: choice.name ?? '' } };
      lost.add('tool_choice');
      return undefined;
    }
    default:
      return 'auto';
  }
}
