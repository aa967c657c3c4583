// URLs in a text that people or models wrote.

/** The http and https URLs of a text, without the punctuation that ends a sentence or a bracket around them; each
 * once, at most so many. */
export function urlsIn(text: string, most: number): string[] {
  const found = new Set<string>();
  for (const [url] of text.matchAll(/https?:\/\/[^\s<>"'`{}|\\^\p{Cc}]+/giu)) {
    found.add(trimmed(url));
    if (found.size === most) break;
  }
  return [...found];
}

function trimmed(url: string): string {
  // A closing bracket belongs to the URL when it opens one.
  const tail = url.includes('(') ? '.,;:!?*_]' : '.,;:!?*_])';
  let end = url.length;
  while (end > 0 && tail.includes(url[end - 1]!)) end--;
  return url.slice(0, end);
}
