// Tools and their choice in the chat form. Functions are functions; a free-form tool is offered as a function with
// one string member, and the shell that a client runs itself as a function with the members of its action. Tools that
// a provider would run itself have no word in the chat form.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { stringOf } from './content.ts';
import type { Drops } from './dropped.ts';

/** The only member of a free-form tool's function. */
export const INPUT = 'input';

/** What a call's function was before it was translated. */
export type ToolKind = 'function' | 'custom' | 'local_shell';

/** The kind of each tool that the model is offered, by the name of its function. */
export type ToolKinds = ReadonlyMap<string, ToolKind>;

const LOCAL_SHELL: JsonObject = {
  type: 'object',
  properties: {
    command: { type: 'array', items: { type: 'string' }, description: 'The command and its arguments' },
    working_directory: { type: 'string', description: 'Where it runs' },
    timeout_ms: { type: 'number', description: 'Milliseconds that it may take' },
    env: { type: 'object', additionalProperties: { type: 'string' } },
  },
  required: ['command'],
};

/** The kinds of the tools of a request. */
export function toolKinds(tools: readonly JsonValue[]): ToolKinds {
  const kinds = new Map<string, ToolKind>();
  for (const tool of tools) {
    if (!isObject(tool)) continue;
    if (tool.type === 'custom') kinds.set(stringOf(tool.name), 'custom');
    else if (tool.type === 'local_shell') kinds.set('local_shell', 'local_shell');
    else if (tool.type === 'function') kinds.set(stringOf(tool.name), 'function');
  }
  return kinds;
}

/** The chat form's tools. */
export function chatTools(tools: readonly JsonValue[], drops: Drops): JsonObject[] {
  return tools.flatMap((tool, i) => {
    if (!isObject(tool)) return [];
    const own = tool.defer_loading === true ? undefined : chatTool(tool);
    if (own !== undefined) {
      for (const name of unreadMembers(tool)) drops.add(`tools[${i}].${name}`);
      return [own];
    }
    const [name, deferred] = [textOf(tool.name), tool.defer_loading === true ? ', deferred' : ''];
    drops.add(`tools[${i}]`, `${stringOf(tool.type)}${name === undefined ? '' : ` ${name}`}${deferred}`);
    return [];
  });
}

const READ: ReadonlySet<string> = new Set([
  ...['type', 'name', 'description', 'parameters', 'strict', 'format', 'defer_loading'],
]);

/** Members of a tool that the chat form has no word for. A caller of its own is what every tool has. */
function unreadMembers(tool: JsonObject): string[] {
  const isUsual = (name: string): boolean =>
    name === 'allowed_callers' && arrayOf(tool[name]).every((caller) => caller === 'direct');
  return Object.keys(tool).filter(
    (name) => !READ.has(name) && tool[name] !== null && tool[name] !== false && !isUsual(name),
  );
}

function chatTool(tool: JsonObject): JsonObject | undefined {
  switch (tool.type) {
    case 'function':
      return functionTool(
        stringOf(tool.name),
        textOf(tool.description),
        objectOf(tool.parameters) ?? { type: 'object', properties: {} },
        tool.strict === true,
      );
    case 'custom':
      return functionTool(stringOf(tool.name), customDescription(tool), {
        type: 'object',
        properties: {
          [INPUT]: { type: 'string', description: 'The whole input of the tool, as plain text' },
        },
        required: [INPUT],
        additionalProperties: false,
      });
    case 'local_shell':
      return functionTool('local_shell', "Runs a command on the user's machine", LOCAL_SHELL);
    default:
      return undefined;
  }
}

function functionTool(
  name: string,
  description: string | undefined,
  parameters: JsonObject,
  strict = false,
): JsonObject {
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters,
      ...(strict ? { strict } : {}),
    },
  };
}

/** A grammar is told in words: no other wire keeps to one. */
function customDescription({ description, format }: JsonObject): string | undefined {
  const own = textOf(description);
  const grammar = objectOf(format);
  const definition = grammar?.type === 'grammar' ? textOf(grammar.definition) : undefined;
  if (definition === undefined) return own;
  const said = `The input must follow this ${stringOf(grammar?.syntax) || 'lark'} grammar:\n${definition}`;
  return own === undefined ? said : `${own}\n\n${said}`;
}

/** The chat form's choice, and the tools that are left of it where only some are allowed. */
export function chatToolChoice(
  choice: JsonValue | undefined,
  tools: readonly JsonObject[],
  drops: Drops,
): { readonly choice: JsonValue | undefined; readonly tools: readonly JsonObject[] } {
  if (tools.length === 0) return { choice: undefined, tools };
  if (!isObject(choice)) return { choice: typeof choice === 'string' ? choice : undefined, tools };
  if (choice.type === 'allowed_tools') {
    const names = new Set(arrayOf(choice.tools).map((tool) => nameOf(objectOf(tool))));
    const allowed = tools.filter((tool) => names.has(stringOf(objectOf(tool.function)?.name)));
    return {
      choice: allowed.length === 0 ? 'none' : (textOf(choice.mode) ?? 'auto'),
      tools: allowed.length === 0 ? tools : allowed,
    };
  }
  const name = nameOf(choice);
  if (name !== '' && tools.some((tool) => objectOf(tool.function)?.name === name))
    return { choice: { type: 'function', function: { name } }, tools };
  drops.add('tool_choice', stringOf(choice.type));
  return { choice: undefined, tools };
}

function nameOf(tool: JsonObject | undefined): string {
  if (tool?.type === 'function' || tool?.type === 'custom') return stringOf(tool.name);
  return tool?.type === 'local_shell' ? 'local_shell' : '';
}
