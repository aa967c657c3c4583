// The texts of the Messages API (Anthropic's API reference, "Messages").
import { objectAt, Slots, textAt } from './slots.ts';
import type { Body, JsonObject, JsonPath } from './traffic.ts';

/** One unit for the system prompt, where there is one, and one for each message. */
export function messagesRequest(json: JsonObject): Body {
  const slots = new Slots();
  const { system, messages } = json;
  const first = system === undefined || system === null ? 0 : 1;
  readContent(slots, system, ['system'], 'system', 0);
  for (const [message, path] of slots.objects(['messages'], messages)) {
    readContent(
      slots,
      message.content,
      [...path, 'content'],
      textAt(message, 'role'),
      first + Number(path[1]),
    );
  }
  slots.toldMembers(json, ['tools', 'output_format', 'output_config']);
  return slots.body(json, first + (Array.isArray(messages) ? messages.length : 0));
}

/** One unit. */
export function messagesResponse(json: JsonObject): Body {
  const slots = new Slots();
  readContent(slots, json.content, ['content'], 'assistant', 0);
  return slots.body(json, 1);
}

/** Whose block it is. */
interface BlockDraft {
  readonly role: string;
  readonly unit: number;
}

/** Blocks within blocks that are followed, as steps of a path: no provider takes nearly as many. */
const DEEPEST = 60;

function readContent(slots: Slots, content: unknown, path: JsonPath, role: string, unit: number): void {
  const draft = { role, unit };
  if (path.length > DEEPEST) {
    slots.unreadable();
    return;
  }
  slots.content(path, content, draft, (block, at) => readBlock(slots, block, at, draft));
}

/** One block: of a message, or of a chat's message, whose providers take them as well. */
export function readBlock(slots: Slots, block: JsonObject, at: JsonPath, draft: BlockDraft): void {
  const { role, unit } = draft;
  switch (block.type) {
    case 'thinking':
      slots.text([...at, 'thinking'], block.thinking, { ...draft, kind: 'reasoning' });
      break;
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      slots.call([...at, 'input'], block.name, block.input, draft);
      break;
    case 'document': {
      const source = objectAt(block, 'source');
      slots.text([...at, 'title'], block.title, draft);
      slots.text([...at, 'context'], block.context, draft);
      slots.file([...at, 'source', 'data'], encodedIn(source), source.media_type, draft);
      if (source.type === 'text') slots.text([...at, 'source', 'data'], source.data, draft);
      else if (source.type === 'content')
        readContent(slots, source.content, [...at, 'source', 'content'], role, unit);
      break;
    }
    case 'tool_result':
    case 'mcp_tool_result':
      readContent(slots, block.content, [...at, 'content'], 'tool', unit);
      break;
    default:
      // Search results, results of tools that Anthropic runs, and blocks that are not known here.
      for (const name of ['text', 'title', 'stdout', 'stderr']) slots.text([...at, name], block[name], draft);
      readContent(slots, block.content, [...at, 'content'], role, unit);
      slots.prompts([...at, 'lines'], block.lines, draft);
  }
}

/** What a source holds in base64. */
function encodedIn({ type, data }: JsonObject): unknown {
  return type === 'base64' ? data : undefined;
}
