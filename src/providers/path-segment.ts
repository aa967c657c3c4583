// A caller's text as one segment of a provider's path.
import { urlText } from '../lib/url-text.ts';

/** The text encoded, whatever it is: it neither ends the segment nor leads to another path. */
export function pathSegment(text: string): string {
  // A dot segment would lead to another operation.
  if (text === '.' || text === '..') return text.replaceAll('.', '%252E');
  return urlText(text);
}
