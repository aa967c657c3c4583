// Where the text stands in a chunk of a streamed answer, so that chunks that differ in nothing else are known by it.
import type { JsonObject } from '@bufbuild/protobuf';
import type { Pattern } from '../../../lib/found-events.ts';
import { isObject, objectOf } from '../../json-object.ts';

/** In the place of a text, to see whether it stands where it seems to. */
const PROBE = 'probe:sluice';
/** With it OpenAI fills chunks up to a size: another text in each. */
const FILLING = 'obfuscation';

/** What stands before and after a text. */
export type Around = readonly [before: string, after: string];

/**
 * What stands around the text of a chunk that says a piece of the only choice's text and does not end it; undefined: it is
 * no such chunk. @param data the chunk's JSON @param json the same, read
 */
export function aroundText(data: string, json: JsonObject): Around | undefined {
  const text = textIn(json);
  if (text === undefined || text === PROBE || data.includes('\n')) return undefined;
  const found = around(data, 'content', text);
  const probed = found && read(found.join(PROBE));
  return probed !== undefined && textIn(probed) === PROBE ? found : undefined;
}

/** The pattern of such a chunk. */
export function repeatedText([before, after]: Around, json: JsonObject): Pattern {
  const filling = json[FILLING];
  const filled = typeof filling === 'string' ? around(after, FILLING, filling) : undefined;
  const isFilling = filled && read(before + PROBE + filled.join(PROBE))?.[FILLING] === PROBE;
  const event = undefined;
  return isFilling
    ? { event, parts: [before, ...filled], holes: ['text', 'filling'] }
    : { event, parts: [before, after], holes: ['text'] };
}

/** The text of a chunk's only choice, where that has not come to its end. */
function textIn({ choices }: JsonObject): string | undefined {
  if (!Array.isArray(choices) || choices.length !== 1) return undefined;
  const [choice] = choices;
  if (!isObject(choice) || (choice.finish_reason ?? null) !== null) return undefined;
  const content = objectOf(choice.delta)?.content;
  return typeof content === 'string' && content !== '' ? content : undefined;
}

/** Undefined: the member is not written plainly. */
function around(data: string, member: string, text: string): Around | undefined {
  const written = JSON.stringify(text).slice(1);
  for (const lead of [`"${member}":"`, `"${member}": "`]) {
    const at = data.indexOf(lead);
    if (at === -1) continue;
    const begin = at + lead.length;
    if (!data.startsWith(written, begin)) return undefined;
    return [data.slice(0, begin), data.slice(begin + written.length - 1)];
  }
  return undefined;
}

function read(data: string): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(data));
  } catch {
    return undefined;
  }
}
