// The texts of Bedrock's Converse (AWS's API reference, "Converse").
import { objectAt, Slots, textAt } from './slots.ts';
import type { Body, JsonObject, JsonPath } from './traffic.ts';

/** One unit for the system prompt, where there is one, and one for each message. */
export function converseRequest(json: JsonObject): Body {
  const slots = new Slots();
  const { system, messages } = json;
  const first = system === undefined || system === null ? 0 : 1;
  readBlocks(slots, system, ['system'], 'system', 0);
  for (const [message, path] of slots.objects(['messages'], messages))
    readBlocks(
      slots,
      message.content,
      [...path, 'content'],
      textAt(message, 'role'),
      first + Number(path[1]),
    );
  const variables = objectAt(json, 'promptVariables');
  for (const [name, value] of Object.entries(variables))
    slots.text(['promptVariables', name, 'text'], (value as JsonObject | null)?.text, {
      role: 'user',
      unit: 0,
    });
  slots.toldMembers(json, ['toolConfig', 'additionalModelRequestFields', 'outputConfig']);
  return slots.body(json, first + (Array.isArray(messages) ? messages.length : 0));
}

/** One unit. */
export function converseResponse(json: JsonObject): Body {
  const slots = new Slots();
  const { content } = objectAt(objectAt(json, 'output'), 'message');
  readBlocks(slots, content, ['output', 'message', 'content'], 'assistant', 0);
  return slots.body(json, 1);
}

function readBlocks(slots: Slots, blocks: unknown, path: JsonPath, role: string, unit: number): void {
  const draft = { role, unit };
  slots.content(path, blocks, draft, (block, at) => {
    slots.text([...at, 'text'], block.text, draft);
    const use = objectAt(block, 'toolUse');
    slots.call([...at, 'toolUse', 'input'], use.name, use.input, draft);
    const guarded = objectAt(objectAt(block, 'guardContent'), 'text');
    slots.text([...at, 'guardContent', 'text', 'text'], guarded.text, draft);
    const thought = objectAt(objectAt(block, 'reasoningContent'), 'reasoningText');
    slots.text([...at, 'reasoningContent', 'reasoningText', 'text'], thought.text, {
      ...draft,
      kind: 'reasoning',
    });
    readDocument(slots, block, at, draft);
    readFound(slots, block, at, draft);
    const inner = { role: 'tool', unit };
    const result = [...at, 'toolResult', 'content'];
    slots.content(result, objectAt(block, 'toolResult').content, inner, (part, to) => {
      slots.text([...to, 'text'], part.text, inner);
      slots.call([...to, 'json'], undefined, part.json, inner);
      readDocument(slots, part, to, inner);
      readFound(slots, part, to, inner);
    });
  });
}

/** Search results, and texts with citations. */
function readFound(
  slots: Slots,
  block: JsonObject,
  at: JsonPath,
  draft: { readonly role: string; readonly unit: number },
): void {
  for (const name of ['searchResult', 'citationsContent']) {
    const found = objectAt(block, name);
    slots.text([...at, name, 'title'], found.title, draft);
    for (const [part, to] of slots.objects([...at, name, 'content'], found.content))
      slots.text([...to, 'text'], part.text, draft);
  }
}

/** A document's text: as it is, in parts, or as the bytes of a text file. */
function readDocument(
  slots: Slots,
  block: JsonObject,
  at: JsonPath,
  draft: { readonly role: string; readonly unit: number },
): void {
  const document = objectAt(block, 'document');
  const source = objectAt(document, 'source');
  const path = [...at, 'document', 'source'];
  slots.told([...at, 'document', 'name'], document.name, draft);
  slots.text([...at, 'document', 'context'], document.context, draft);
  slots.text([...path, 'text'], source.text, draft);
  slots.file([...path, 'bytes'], source.bytes, undefined, draft, document.format);
  for (const [part, to] of slots.objects([...path, 'content'], source.content))
    slots.text([...to, 'text'], part.text, draft);
}
