// The name of the gateway in requests to upstreams.

/** Who asks, where the target's headers (flat pairs) do not say it. */
export function agentOf(headers: readonly string[]): readonly string[] {
  const isGiven = headers.some((one, i) => i % 2 === 0 && one.toLowerCase() === 'user-agent');
  return isGiven ? [] : ['user-agent', 'sluice-gateway'];
}
