// A caller's text as one segment of a provider's path.

/** The text encoded, whatever it is: it neither ends the segment nor leads to another path. */
export function pathSegment(text: string): string {
  // A dot segment would lead to another operation.
  if (text === '.' || text === '..') return text.replaceAll('.', '%252E');
  return encodeURIComponent(text.toWellFormed());
}
