// Upper bounds on times. They are there to tell what waits for something that never comes from what is merely slow, and
// tests run side by side, often on a machine that other work keeps busy. How fast the gateway is, benches measure.

const SLACK = 6;

/** The most milliseconds that a test lets something take whose bound is `ms` on a machine of its own. */
export function withSlack(ms: number): number {
  return ms * SLACK;
}
