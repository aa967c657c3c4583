// Whether the client is still connected: one listener per request, shared by all that wait.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fail, type GatewayError } from '../lib/errors.ts';

/** Tells the one who waits now that the client has left before its answer was complete. */
export class Leave {
  #waiting: ((error: GatewayError) => void) | undefined;
  #error: GatewayError | undefined;

  constructor(req: IncomingMessage, res: ServerResponse) {
    const left = (): void => {
      if (res.writableFinished || this.#error) return;
      this.#error = fail('client_closed', 'the client has left');
      this.#waiting?.(this.#error);
    };
    res.on('close', left);
    // An error on a request without a listener would end the process.
    req.on('error', left);
  }

  /** Calls back when the client leaves, at once when it has; replaces who waited before. */
  tell(waiting: (error: GatewayError) => void): void {
    this.#waiting = waiting;
    if (this.#error) waiting(this.#error);
  }
}
