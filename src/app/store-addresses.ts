// Where a store is, for the log: its hosts and ports, and nothing of its credentials.

/** The hosts of a MongoDB or Redis address, or of several with commas between. */
export function storeAddress(uri: string): string {
  const [, scheme = ''] = /^([a-z+]+):\/\//i.exec(uri) ?? [];
  if (/^mongodb/i.test(scheme)) {
    const rest = uri.slice(scheme.length + 3);
    // A password may hold anything but a slash.
    return rest.slice(0, ends(rest)).replace(/^.*@/s, '');
  }
  return uri
    .split(',')
    .map((one) => (URL.canParse(one.trim()) ? new URL(one.trim()).host : ''))
    .filter((host) => host !== '')
    .join(', ');
}

function ends(rest: string): number {
  const end = rest.search(/[/?]/);
  return end < 0 ? rest.length : end;
}
