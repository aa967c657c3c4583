// The texts of the Responses API (OpenAI's API reference, "Create a model response").
import { Slots, textAt } from './slots.ts';
import type { Body, JsonObject, JsonPath } from './traffic.ts';

/** One unit for the instructions, where there are any, and one for each item of the input. */
export function responsesRequest(json: JsonObject): Body {
  const slots = new Slots();
  const { instructions, input } = json;
  const { variables } = objectAt(json.prompt);
  const first = typeof instructions === 'string' ? 1 : 0;
  slots.text(['instructions'], instructions, { role: 'system', unit: 0 });
  slots.text(['input'], input, { role: 'user', unit: first });
  for (const [item, path] of slots.objects(['input'], input)) {
    readItem(slots, item, path, first + Number(path[1]), 'user');
  }
  // A stored prompt is filled with the caller's words.
  for (const [name, value] of Object.entries(objectAt(variables))) {
    const at = ['prompt', 'variables', name];
    slots.text(at, value, { role: 'user', unit: first });
    slots.text([...at, 'text'], objectAt(value).text, { role: 'user', unit: first });
  }
  for (const [item, path] of slots.objects(['instructions'], instructions))
    readItem(slots, item, path, -1, 'system');
  readTools(slots, ['tools'], json.tools);
  slots.told(['text', 'format'], objectAt(json.text).format);
  return slots.body(json, first + (Array.isArray(input) ? input.length : 1));
}

/** Members of a tool that only a server of MCP is told. */
const UNTOLD = new Set(['authorization', 'headers']);

function readTools(slots: Slots, at: JsonPath, tools: unknown): void {
  if (!Array.isArray(tools)) {
    slots.told(at, tools);
    return;
  }
  const told = tools.map((tool: unknown) =>
    Object.fromEntries(Object.entries(objectAt(tool)).filter(([name]) => !UNTOLD.has(name))),
  );
  if (told.length > 0) slots.told(at, told);
}

function objectAt(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

/** One unit: an answer's items belong together. */
export function responsesResponse(json: JsonObject): Body {
  const slots = new Slots();
  for (const [item, path] of slots.objects(['output'], json.output))
    readItem(slots, item, path, 0, 'assistant');
  return slots.body(json, 1);
}

/** Where a part has its text: of messages, of shells, of a code interpreter. */
const PARTS = ['text', 'refusal', 'stdout', 'stderr', 'logs'];

function readItem(slots: Slots, item: JsonObject, path: JsonPath, unit: number, fallback: string): void {
  const draft = { role: textAt(item, 'role') || fallback, unit };
  const parts = (name: string, more: object = {}): void =>
    slots.content([...path, name], item[name], { ...draft, ...more }, (part, at) => {
      for (const member of PARTS) slots.text([...at, member], part[member], { ...draft, ...more });
      slots.file([...at, 'file_data'], part.file_data, undefined, { ...draft, ...more }, part.filename);
      slots.file([...at, 'image_url'], part.image_url, undefined, { ...draft, ...more });
    });
  switch (item.type) {
    case 'reasoning':
      parts('summary', { role: 'assistant', kind: 'reasoning' });
      parts('content', { role: 'assistant', kind: 'reasoning' });
      break;
    case 'function_call':
    case 'mcp_call':
    case 'mcp_approval_request':
      slots.call([...path, 'arguments'], item.name, item.arguments, { role: 'assistant', unit });
      parts('output', { role: 'tool' });
      slots.text([...path, 'error'], item.error, { role: 'tool', unit });
      break;
    case 'shell_call':
    case 'local_shell_call':
      slots.call([...path, 'action'], 'shell', item.action, { role: 'assistant', unit });
      break;
    case 'apply_patch_call':
      slots.call([...path, 'operation'], 'apply_patch', item.operation, { role: 'assistant', unit });
      break;
    case 'mcp_list_tools':
      slots.told([...path, 'tools'], item.tools, draft);
      break;
    case 'mcp_approval_response':
      slots.text([...path, 'reason'], item.reason, draft);
      break;
    case 'web_search_call':
    case 'computer_call':
      slots.call([...path, 'action'], item.type, item.action, { role: 'assistant', unit });
      break;
    case 'code_interpreter_call':
      slots.call([...path, 'code'], 'code_interpreter', item.code, { role: 'assistant', unit });
      parts('outputs', { role: 'tool' });
      break;
    case 'file_search_call':
      slots.prompts([...path, 'queries'], item.queries, { role: 'assistant', unit });
      parts('results', { role: 'tool' });
      break;
    case 'custom_tool_call':
      slots.call([...path, 'input'], item.name, item.input, { role: 'assistant', unit });
      break;
    default:
      if (typeof item.output === 'string' || Array.isArray(item.output)) parts('output', { role: 'tool' });
      else parts('content');
      slots.told([...path, 'name'], item.name, draft);
      slots.text([...path, 'text'], item.text, draft);
      slots.text([...path, 'revised_prompt'], item.revised_prompt, { role: 'assistant', unit });
  }
}
