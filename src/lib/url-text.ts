// Text inside of a URL.

/** The text escaped for a path segment or a query; what is no Unicode in it becomes U+FFFD, so that it never throws. */
export function urlText(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
