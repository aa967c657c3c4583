// Which texts a check looks at: of a request the part of the conversation that was chosen, of an answer every choice.
import { type CheckContext, CheckFailure } from '../contract/check.ts';
import { stringsIn } from './rewrite.ts';
import type { Body, TextSlot } from './traffic.ts';

/** Characters that one check looks at: what is done at once, on the event loop, stays within milliseconds. */
const MOST_CHARACTERS = 2_097_152;

/** The side of the call that the hook examines. */
export function bodyOf({ event, traffic }: CheckContext): Body {
  if (event === 'input') return traffic.request;
  if (traffic.response === undefined) throw new CheckFailure('CheckError', 'there is no answer to examine');
  return traffic.response;
}

/** The slots that a check looks at. @param beside whether tool calls and reasoning count, unless a parameter says */
export function examinedSlots(context: CheckContext, beside: boolean): readonly TextSlot[] {
  const body = bodyOf(context);
  const counts = context.beside ?? beside;
  return body.slots.filter((slot) => (counts || slot.kind === 'content') && inScope(context, body, slot));
}

function inScope({ event, scope }: CheckContext, { units }: Body, { unit, role }: TextSlot): boolean {
  if (event === 'output' || scope === 'all') return true;
  return scope === 'user' ? role === 'user' : unit === units - 1;
}

/** The side examined, once it is sure that its text is text. @throws CheckFailure UnreadableInputError */
export function requireReadable(context: CheckContext): Body {
  const body = bodyOf(context);
  if (!body.opaque) return body;
  throw new CheckFailure(
    'UnreadableInputError',
    'the body holds what cannot be examined: token numbers in place of text, or too deep a nest',
  );
}

/**
 * The texts to judge, each by itself: one for a request, one for each choice of an answer; pieces are joined by line
 * feeds. A text may be empty.
 * @throws CheckFailure UnreadableInputError when tokens stand in place of text, InputTooLongError
 */
export function examinedTexts(context: CheckContext, beside: boolean): readonly string[] {
  const body = requireReadable(context);
  const slots = examinedSlots(context, beside);
  const length = slots.reduce((sum, { text }) => sum + text.length, 0);
  if (length > MOST_CHARACTERS) {
    throw new CheckFailure('InputTooLongError', `the text has more than ${MOST_CHARACTERS} characters`);
  }
  if (context.event === 'input') return [slots.map(said).join('\n')];
  const texts: string[][] = Array.from({ length: body.units }, () => []);
  for (const slot of slots) texts[slot.unit]?.push(said(slot));
  return texts.map((pieces) => pieces.join('\n'));
}

/** A slot's text; of a tool call, its name and arguments, these once more in plain where they hold escapes. */
function said({ kind, form, name, text }: TextSlot): string {
  if (kind !== 'tool_call') return text;
  const plain = text.includes('\\') && form !== 'text' ? plainStrings(text) : '';
  return [name, text, plain].filter(Boolean).join('\n');
}

function plainStrings(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== 'object' || value === null) return '';
    return stringsIn(value)
      .map(({ text }) => text)
      .join('\n');
  } catch {
    return '';
  }
}

/** All texts of a side in one, for those who are sent it whole. */
export function wholeText(body: Body): string {
  return body.slots
    .filter(({ kind }) => kind === 'content')
    .map(({ text }) => text)
    .join('\n');
}
