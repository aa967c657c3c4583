// The one place that makes an address of a program: the page's policy takes no other.

interface Policy {
  createScriptURL(url: string): string;
}

interface Factory {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): Policy;
}

const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
const policy = factory?.createPolicy('sluice', { createScriptURL: own });

/** A file of the console's own build. @throws Error for any other */
export function trusted(url: string): string {
  return policy === undefined ? own(url) : policy.createScriptURL(url);
}

function own(url: string): string {
  const { origin, pathname } = new URL(url, location.href);
  if (origin !== location.origin || !pathname.startsWith('/console/assets/'))
    throw new Error('is no file of the console');
  return url;
}
