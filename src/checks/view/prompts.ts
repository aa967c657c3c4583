// The texts of APIs that take a prompt or an input: completions, embeddings, moderations, rerank; of images, speech,
// transcripts and OCR.
import { Slots } from './slots.ts';
import type { Body, JsonObject } from './traffic.ts';

/** One unit: what is asked is one thing, in however many pieces. */
export function promptRequest(json: JsonObject): Body {
  const slots = new Slots();
  const draft = { role: 'user', unit: 0 };
  for (const name of ['prompt', 'input', 'suffix', 'query', 'inputs', 'texts', 'messages']) {
    slots.prompts([name], json[name], draft);
    for (const [part, path] of slots.objects([name], json[name])) {
      slots.text([...path, 'text'], part.text, draft);
      slots.content([...path, 'content'], part.content, draft, (inner, at) =>
        slots.text([...at, 'text'], inner.text, draft),
      );
    }
  }
  const { documents } = json;
  slots.prompts(['documents'], documents, draft);
  // A document may have its text in any of its fields.
  for (const [document, path] of slots.objects(['documents'], documents))
    for (const [field, value] of Object.entries(document)) slots.text([...path, field], value, draft);
  return slots.body(json, 1);
}

/** Where models of Bedrock have the text of their own requests: Titan, Llama, Mistral, Cohere, Stability. */
const OWN = ['prompt', 'inputText', 'texts', 'message', 'query', 'documents'];

/** A body of a model's own form; one without a text that is known cannot be read. */
export function ownRequest(json: JsonObject): Body {
  const slots = new Slots();
  const draft = { role: 'user', unit: 0 };
  for (const name of OWN) slots.prompts([name], json[name], draft);
  for (const name of ['text_prompts', 'chat_history'])
    for (const [part, path] of slots.objects([name], json[name])) {
      slots.text([...path, 'text'], part.text, draft);
      slots.text([...path, 'message'], part.message, draft);
    }
  if (slots.body(json, 1).slots.length === 0) slots.unreadable();
  return slots.body(json, 1);
}

/** An answer of a model's own form. */
export function ownResponse(json: JsonObject): Body {
  const slots = new Slots();
  const draft = { role: 'assistant', unit: 0 };
  slots.text(['generation'], json.generation, draft);
  slots.text(['text'], json.text, draft);
  for (const [name, member] of [
    ['results', 'outputText'],
    ['outputs', 'text'],
    ['generations', 'text'],
    ['completions', 'text'],
  ] as const)
    for (const [part, path] of slots.objects([name], json[name]))
      slots.text([...path, member], part[member], draft);
  return slots.body(json, 1);
}

/** One unit for each choice of a completion; other answers of these APIs hold no text. */
export function completionResponse(json: JsonObject): Body {
  const slots = new Slots();
  const choices = slots.objects(['choices'], json.choices);
  for (const [unit, [choice, path]] of choices.entries()) {
    slots.text([...path, 'text'], choice.text, { role: 'assistant', unit });
  }
  return slots.body(json, choices.length);
}

/** What is asked of images and of speech: the prompt or the text, and what is said about the way of it. */
export function mediaRequest(json: JsonObject): Body {
  const slots = new Slots();
  const draft = { role: 'user', unit: 0 };
  for (const name of ['prompt', 'input', 'negative_prompt', 'instructions', 'style'])
    slots.text([name], json[name], draft);
  return slots.body(json, 1);
}

/** Rewritten prompts, transcripts, texts read from pages: one unit for each image or page. */
export function mediaResponse(json: JsonObject): Body {
  const slots = new Slots();
  const draft = { role: 'assistant' };
  slots.text(['text'], json.text, { ...draft, unit: 0 });
  const images = slots.objects(['data'], json.data);
  for (const [unit, [image, path]] of images.entries())
    slots.text([...path, 'revised_prompt'], image.revised_prompt, { ...draft, unit });
  const pages = slots.objects(['pages'], json.pages);
  for (const [unit, [page, path]] of pages.entries())
    slots.text([...path, 'markdown'], page.markdown, { ...draft, unit });
  for (const [segment, path] of slots.objects(['segments'], json.segments))
    slots.text([...path, 'text'], segment.text, { ...draft, unit: 0 });
  return slots.body(json, Math.max(1, images.length, pages.length));
}
