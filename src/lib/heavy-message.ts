// Messages that are too expensive to be read on the event loop: their JSON may be sent on as it is, and no more.
import type { GatewayError } from './errors.ts';
import { PrivateMember } from './private-member.ts';

class Heavy extends PrivateMember {
  #error: GatewayError;

  constructor(message: object, error: GatewayError) {
    super(message);
    this.#error = error;
  }

  static of(message: object): GatewayError | undefined {
    return #error in message ? message.#error : undefined;
  }
}

/** From now on the message's JSON is not to be read. @param error what those who must read it throw */
export function markHeavy(message: object, error: GatewayError): void {
  new Heavy(message, error);
}

/** Whether the message's JSON is not to be read. */
export function isHeavyMessage(message: object): boolean {
  return Heavy.of(message) !== undefined;
}

/** @throws GatewayError where the message's JSON is not to be read */
export function checkReadable(message: object): void {
  const error = Heavy.of(message);
  if (error !== undefined) throw error;
}
