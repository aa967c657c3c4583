// The texts of Gemini's own form (Google's API reference, "generateContent", "embedContent"). Members may be written in
// camelCase and in snake_case: Google's servers take both.
import { objectAt, Slots, textAt } from './slots.ts';
import type { Body, JsonObject, JsonPath } from './traffic.ts';

/** One unit for the system's instruction, where there is one, and one for each content. */
export function geminiRequest(json: JsonObject): Body {
  const slots = new Slots();
  let unit = 0;
  for (const name of ['systemInstruction', 'system_instruction']) {
    if (json[name] === undefined || json[name] === null) continue;
    readContent(slots, json[name], [name], 'system', unit++);
  }
  unit = readContents(slots, json.contents, ['contents'], unit);
  // Embeddings: one content, or requests with one each.
  if (json.content !== undefined) readContent(slots, json.content, ['content'], 'user', unit++);
  for (const [request, path] of slots.objects(['requests'], json.requests))
    readContent(slots, request.content, [...path, 'content'], 'user', unit++);
  // What countTokens wraps.
  for (const name of ['generateContentRequest', 'generate_content_request']) {
    const wrapped = objectAt(json, name);
    unit = readContents(slots, wrapped.contents, [name, 'contents'], unit);
    for (const own of ['systemInstruction', 'system_instruction'])
      readContent(slots, wrapped[own], [name, own], 'system', unit);
  }
  for (const at of [[], ['generateContentRequest'], ['generate_content_request']])
    readTold(slots, at[0] === undefined ? json : objectAt(json, at[0]), at);
  return slots.body(json, unit);
}

/** The tools, and the form of the answer. */
function readTold(slots: Slots, json: JsonObject, at: JsonPath): void {
  slots.toldMembers(json, ['tools'], at);
  for (const name of ['generationConfig', 'generation_config'])
    slots.toldMembers(objectAt(json, name), SCHEMAS, [...at, name]);
}

const SCHEMAS = [
  ...['responseSchema', 'response_schema', 'responseJsonSchema', 'response_json_schema'],
  ...['_responseJsonSchema', 'responseFormat', 'response_format'],
];

/** One unit for each candidate. */
export function geminiResponse(json: JsonObject): Body {
  const slots = new Slots();
  const candidates = slots.objects(['candidates'], json.candidates);
  for (const [unit, [candidate, path]] of candidates.entries())
    readContent(slots, candidate.content, [...path, 'content'], 'assistant', unit);
  return slots.body(json, candidates.length);
}

function readContents(slots: Slots, contents: unknown, path: JsonPath, from: number): number {
  if (typeof contents === 'string') {
    slots.text(path, contents, { role: 'user', unit: from });
    return from + 1;
  }
  if (contents === undefined || contents === null) return from;
  if (!Array.isArray(contents)) {
    readContent(slots, contents, path, 'user', from);
    return from + 1;
  }
  for (const [i, item] of contents.entries()) {
    if (typeof item === 'string') slots.text([...path, i], item, { role: 'user', unit: from + i });
  }
  for (const [content, at] of slots.objects(path, contents))
    readContent(slots, content, at, textAt(content, 'role') || 'user', from + Number(at.at(-1)));
  return from + contents.length;
}

function readContent(slots: Slots, content: unknown, path: JsonPath, role: string, unit: number): void {
  if (typeof content === 'string') slots.text(path, content, { role, unit });
  if (typeof content !== 'object' || content === null) return;
  const own = role === 'model' ? 'assistant' : role;
  const draft = { role: own, unit };
  const { parts } = content as JsonObject;
  slots.content([...path, 'parts'], parts, draft, (part, at) => {
    slots.text([...at, 'text'], part.text, part.thought === true ? { ...draft, kind: 'reasoning' } : draft);
    for (const name of ['functionCall', 'function_call']) {
      const call = objectAt(part, name);
      slots.call([...at, name, 'args'], call.name, call.args, draft);
    }
    for (const name of ['functionResponse', 'function_response']) {
      const answer = objectAt(part, name);
      const told = { ...draft, role: 'tool' };
      slots.call([...at, name, 'response'], answer.name, answer.response, told);
      for (const [inner, path] of slots.objects([...at, name, 'parts'], answer.parts))
        readFile(slots, inner, path, told);
    }
    readFile(slots, part, at, draft);
    for (const name of ['executableCode', 'executable_code'])
      slots.text([...at, name, 'code'], objectAt(part, name).code, draft);
    for (const name of ['codeExecutionResult', 'code_execution_result'])
      slots.text([...at, name, 'output'], objectAt(part, name).output, { ...draft, role: 'tool' });
  });
}

/** Bytes in a part that are text by their media type. */
function readFile(
  slots: Slots,
  part: JsonObject,
  at: JsonPath,
  draft: { readonly role: string; readonly unit: number },
): void {
  for (const name of ['inlineData', 'inline_data']) {
    const data = objectAt(part, name);
    slots.file([...at, name, 'data'], data.data, data.mimeType ?? data.mime_type, draft);
  }
}
