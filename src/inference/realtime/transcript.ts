// A session's transcript, for the log.
import type { CallBodies } from '../../call/bodies.ts';

/** Characters that are kept, and what a line counts in addition to its own. */
const MOST = 1024 * 1024;
const LINE = 128;

/** Kept where bodies are. */
export class Transcript {
  readonly #lines: { readonly role: string; readonly text: string }[] = [];
  readonly #kept: boolean;
  #held = 0;

  constructor(bodies: CallBodies | undefined) {
    this.#kept = bodies !== undefined;
    if (bodies === undefined) return;
    const text = (): string => JSON.stringify({ transcript: this.#lines });
    bodies.response = text;
    bodies.passing.response = { held: 0, left: 0 };
  }

  add(role: 'user' | 'assistant', text: string): void {
    if (!this.#kept || text === '' || this.#held > MOST) return;
    this.#held += text.length + LINE;
    this.#lines.push({ role, text });
  }
}
