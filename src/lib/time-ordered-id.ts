// Unique ids that begin with their time (UUID version 7, RFC 9562): made one after the other they lie side by side in
// every index, so that a store writes few pages for many of them.
import { randomId } from './random-id.ts';

let madeAt = 0;
let beginning = '';

/** A new id. Those of one millisecond are in no order. */
export function timeOrderedId(): string {
  const now = Date.now();
  if (now !== madeAt) {
    madeAt = now;
    const digits = now.toString(16).padStart(12, '0');
    beginning = `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
  }
  // The random one's last 74 bits, its variant with them.
  return beginning + randomId().slice(15);
}
