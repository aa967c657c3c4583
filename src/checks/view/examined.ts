// Which texts a check looks at: of a request the part of the conversation that was chosen, of an answer every choice.
import { type CheckContext, CheckFailure } from '../contract/check.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { MOST_CHARACTERS } from './most-characters.ts';
import type { Body, TextSlot } from './traffic.ts';

/** The side of the call that the hook examines. */
export function bodyOf({ event, traffic }: CheckContext): Body {
  if (event === 'input') return traffic.request;
  if (traffic.response === undefined) throw new CheckFailure('CheckError', 'there is no answer to examine');
  return traffic.response;
}

/**
 * The slots that a check examines.
 * @param beside whether tool calls and reasoning count, unless a parameter decides
 * @param forbids whether the check fails for what it finds: then it looks at all that the model is told
 */
export function examinedSlots(context: CheckContext, beside: boolean, forbids = false): readonly TextSlot[] {
  const body = bodyOf(context);
  const counts = context.beside ?? beside;
  return body.slots.filter((slot) => {
    if (!(slot.kind === 'told' ? counts && forbids : counts || slot.kind === 'content')) return false;
    return inScope(context, body, slot);
  });
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
    'the body holds what cannot be examined: token numbers in place of text, too deep a nest, or a text file that is too long or not in UTF-8',
  );
}

/**
 * The texts to judge, each by itself: one for a request, one for each choice of an answer; pieces are joined by line
 * feeds. A text may be empty. Made once for all checks that look at the same part.
 * @param forbids see examinedSlots
 * @throws CheckFailure UnreadableInputError when tokens stand in place of text, InputTooLongError; the sandbox's
 */
export function examinedTexts(
  context: CheckContext,
  beside: boolean,
  sandbox: Sandbox,
  forbids = false,
): Promise<readonly string[]> {
  const body = requireReadable(context);
  const key = `${context.event} ${context.scope} ${context.beside ?? beside} ${forbids}`;
  const known = made.get(body) ?? new Map<string, Promise<readonly string[]>>();
  made.set(body, known);
  let texts = known.get(key);
  if (texts === undefined) {
    texts = gathered(context, body, examinedSlots(context, beside, forbids), sandbox);
    known.set(key, texts);
    // What could not be made once may be made later: a queue was full.
    texts.catch(() => known.delete(key));
  }
  return texts;
}

const made = new WeakMap<Body, Map<string, Promise<readonly string[]>>>();

async function gathered(
  { event, traffic }: CheckContext,
  { units }: Body,
  slots: readonly TextSlot[],
  sandbox: Sandbox,
): Promise<readonly string[]> {
  let length = 0;
  for (const { text } of slots) length += text.length;
  if (length > MOST_CHARACTERS) throw tooLong();
  const escaped = slots.filter(isEscaped);
  const plain = await sandbox.examine(
    traffic,
    'plainStrings',
    escaped.map(({ text }) => text),
  );
  for (const text of plain) length += text.length;
  if (length > MOST_CHARACTERS) throw tooLong();
  const inPlain = new Map(escaped.map((slot, index) => [slot, plain[index] ?? ''] as const));
  const texts: string[][] = Array.from({ length: event === 'input' ? 1 : units }, () => []);
  for (const slot of slots)
    texts[event === 'input' ? 0 : slot.unit]?.push(textOf(slot, inPlain.get(slot) ?? ''));
  return texts.map((pieces) => pieces.join('\n'));
}

/** Whether JSON as text holds escapes: it is examined once more in plain. */
function isEscaped({ form, text }: TextSlot): boolean {
  return form !== 'text' && text.includes('\\');
}

function textOf({ kind, name, text }: TextSlot, plain: string): string {
  return kind === 'tool_call' || kind === 'told' ? [name, text, plain].filter(Boolean).join('\n') : text;
}

function tooLong(): CheckFailure {
  return new CheckFailure('InputTooLongError', `the text has more than ${MOST_CHARACTERS} characters`);
}

/** All texts of a side in one, for receivers of the whole side. */
export function wholeText(body: Body): string {
  return body.slots
    .filter(({ kind }) => kind === 'content')
    .map(({ text }) => text)
    .join('\n');
}
