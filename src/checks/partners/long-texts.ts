// Texts that are longer than a service takes, in parts.

/** Characters that a part repeats of the one before it, so that what stands across a cut is seen. */
const OVERLAP = 200;

/** A text in parts of at most so many characters, no pair of surrogates cut. @param overlap whether parts may repeat */
export function partsOf(text: string, longest: number | undefined, overlap: boolean): readonly string[] {
  if (longest === undefined || text.length <= longest) return [text];
  const parts: string[] = [];
  for (let from = 0; from < text.length; ) {
    let end = Math.min(from + longest, text.length);
    if (end < text.length) end = cutBefore(text, from, end);
    parts.push(text.slice(from, end));
    if (end === text.length) break;
    from = overlap ? startAfter(text, Math.max(end - OVERLAP, from + 1)) : end;
  }
  return parts;
}

/** Behind the last white space of the part, where there is one in its second half. */
function cutBefore(text: string, from: number, end: number): number {
  const middle = from + Math.floor((end - from) / 2);
  for (let at = end; at > middle; at--) if (/\s/.test(text[at - 1]!)) return at;
  return isLow(text, end) ? end - 1 : end;
}

function startAfter(text: string, at: number): number {
  return isLow(text, at) ? at + 1 : at;
}

function isLow(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
