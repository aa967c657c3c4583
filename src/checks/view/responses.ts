// The texts of the Responses API (OpenAI's API reference, "Create a model response").
import { Slots, textAt } from './slots.ts';
import type { Body, JsonObject, JsonPath } from './traffic.ts';

/** One unit for the instructions, where there are any, and one for each item of the input. */
export function responsesRequest(json: JsonObject): Body {
  const slots = new Slots();
  const { instructions, input } = json;
  const first = typeof instructions === 'string' ? 1 : 0;
  slots.text(['instructions'], instructions, { role: 'system', unit: 0 });
  slots.text(['input'], input, { role: 'user', unit: first });
  for (const [item, path] of slots.objects(['input'], input)) {
    readItem(slots, item, path, first + Number(path[1]), 'user');
  }
  return slots.body(json, first + (Array.isArray(input) ? input.length : 1));
}

/** One unit: an answer's items belong together. */
export function responsesResponse(json: JsonObject): Body {
  const slots = new Slots();
  for (const [item, path] of slots.objects(['output'], json.output))
    readItem(slots, item, path, 0, 'assistant');
  return slots.body(json, 1);
}

function readItem(slots: Slots, item: JsonObject, path: JsonPath, unit: number, fallback: string): void {
  const draft = { role: textAt(item, 'role') || fallback, unit };
  const parts = (name: string, more: object = {}): void =>
    slots.content([...path, name], item[name], { ...draft, ...more }, (part, at) => {
      slots.text([...at, 'text'], part.text, { ...draft, ...more });
      slots.text([...at, 'refusal'], part.refusal, { ...draft, ...more });
    });
  switch (item.type) {
    case 'reasoning':
      parts('summary', { role: 'assistant', kind: 'reasoning' });
      parts('content', { role: 'assistant', kind: 'reasoning' });
      break;
    case 'function_call':
    case 'mcp_call':
      slots.call([...path, 'arguments'], item.name, item.arguments, { role: 'assistant', unit });
      break;
    case 'custom_tool_call':
      slots.call([...path, 'input'], item.name, item.input, { role: 'assistant', unit });
      break;
    default:
      if (typeof item.output === 'string' || Array.isArray(item.output)) parts('output', { role: 'tool' });
      else parts('content');
      slots.text([...path, 'text'], item.text, draft);
  }
}
