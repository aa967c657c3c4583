// The texts of APIs that take a prompt or an input: completions, embeddings, moderations, images, speech, rerank.
import { Slots } from './slots.ts';
import type { Body, JsonObject } from './traffic.ts';

/** One unit: what is asked is one thing, in however many pieces. */
export function promptRequest(json: JsonObject): Body {
  const slots = new Slots();
  const draft = { role: 'user', unit: 0 };
  for (const name of ['prompt', 'input', 'suffix', 'query', 'documents']) {
    slots.prompts([name], json[name], draft);
    for (const [part, path] of slots.objects([name], json[name]))
      slots.text([...path, 'text'], part.text, draft);
  }
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
