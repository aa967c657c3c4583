// Where a sign-in leads back to, when a page of the gateway outside of the console asked for it.

/** A path of this gateway's own OAuth pages; undefined: the sign-in is the console's own. */
export function returnTo(): string | undefined {
  if (location.pathname !== '/console/sign-in') return undefined;
  const to = new URLSearchParams(location.search).get('return_to') ?? '';
  return /^\/oauth\/(?:authorize|connect)(?:[/?]|$)[\x21-\x5b\x5d-\x7e]*$/.test(to) ? to : undefined;
}
