// The texts of chat completions (OpenAI's API reference, "Create chat completion").
import { readBlock } from './messages.ts';
import { objectAt, Slots, textAt } from './slots.ts';
import type { Body, JsonObject, JsonPath } from './traffic.ts';

/** One unit for each message. */
export function chatRequest(json: JsonObject): Body {
  const slots = new Slots();
  const { messages } = json;
  if (Array.isArray(messages)) {
    for (const [message, path] of slots.objects(['messages'], messages)) {
      readMessage(slots, message, path, textAt(message, 'role'), Number(path[1]));
    }
  }
  const units = Array.isArray(messages) ? messages.length : 0;
  // What the answer is expected to be is read by the model, too; it belongs to the newest message.
  const expected = { role: 'user', unit: Math.max(0, units - 1) };
  const at = ['prediction', 'content'];
  slots.content(at, objectAt(json, 'prediction').content, expected, (part, path) =>
    slots.text([...path, 'text'], part.text, expected),
  );
  slots.toldMembers(json, TOLD);
  return slots.body(json, units);
}

/** What providers of this API write into the prompt beside the messages. */
const TOLD = [
  ...['tools', 'functions', 'response_format', 'documents', 'chat_template_kwargs', 'structured_outputs'],
  ...['guided_json', 'guided_choice', 'guided_regex', 'guided_grammar'],
];

/** One unit for each choice. */
export function chatResponse(json: JsonObject): Body {
  const slots = new Slots();
  const choices = slots.objects(['choices'], json.choices);
  for (const [unit, [choice, path]] of choices.entries()) {
    readMessage(slots, objectAt(choice, 'message'), [...path, 'message'], 'assistant', unit);
  }
  return slots.body(json, choices.length);
}

/** Files of a part that hold text: providers that take any file read them. */
function readFiles(
  slots: Slots,
  part: JsonObject,
  at: JsonPath,
  draft: { readonly role: string; readonly unit: number },
): void {
  const file = objectAt(part, 'file');
  slots.file([...at, 'file', 'file_data'], file.file_data, file.mime_type, draft, file.filename);
  for (const name of ['image_url', 'video_url']) {
    const type = objectAt(part, name).mime_type;
    slots.file([...at, name, 'url'], objectAt(part, name).url, type, draft);
    slots.file([...at, name], part[name], undefined, draft);
  }
}

function readMessage(slots: Slots, message: JsonObject, path: JsonPath, role: string, unit: number): void {
  const draft = { role, unit };
  slots.told([...path, 'name'], message.name, draft);
  slots.content([...path, 'content'], message.content, draft, (part, at) => {
    slots.text([...at, 'refusal'], part.refusal, draft);
    readFiles(slots, part, at, draft);
    if (part.type === 'text') slots.text([...at, 'text'], part.text, draft);
    // Blocks that other wires take in a chat's message: documents, search results, and what is not known here.
    else readBlock(slots, part, at, draft);
  });
  slots.text([...path, 'refusal'], message.refusal, draft);
  slots.text([...path, 'audio', 'transcript'], objectAt(message, 'audio').transcript, draft);
  // What providers of reasoning models add in addition to the content.
  slots.text([...path, 'reasoning_content'], message.reasoning_content, { ...draft, kind: 'reasoning' });
  slots.text([...path, 'reasoning'], message.reasoning, { ...draft, kind: 'reasoning' });
  for (const [detail, at] of slots.objects([...path, 'reasoning_details'], message.reasoning_details)) {
    slots.text([...at, 'text'], detail.text, { ...draft, kind: 'reasoning' });
    slots.text([...at, 'summary'], detail.summary, { ...draft, kind: 'reasoning' });
  }
  for (const [call, at] of slots.objects([...path, 'tool_calls'], message.tool_calls)) {
    const [fn, custom] = [objectAt(call, 'function'), objectAt(call, 'custom')];
    slots.call([...at, 'function', 'arguments'], fn.name, fn.arguments, draft);
    slots.call([...at, 'custom', 'input'], custom.name, custom.input, draft);
  }
  const legacy = objectAt(message, 'function_call');
  slots.call([...path, 'function_call', 'arguments'], legacy.name, legacy.arguments, draft);
}
