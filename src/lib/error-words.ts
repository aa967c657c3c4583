// What is kept of an error whose message is not kept: providers quote the request in messages.
import type { GatewayError } from './errors.ts';

/** A provider may write anything into its type and code: what is no identifier is left out. */
const IDENTIFIER = /^[\w.:-]{1,64}$/;

/** An error's status, type and code, e.g. "status 400, type invalid_request_error, code context_length_exceeded". */
export function withoutWords({ status, type, details: facts }: GatewayError): string {
  const parts = [
    ['status', String(status)],
    ['type', type],
    ['code', facts.code ?? ''],
  ];
  return parts
    .filter(([, value]) => IDENTIFIER.test(value!))
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

/** An error as entries of the request log have it. @param wordless whether its words may not be kept */
export function loggedError(
  error: GatewayError,
  wordless: boolean,
): { readonly reason: GatewayError['reason']; readonly message: string } {
  return { reason: error.reason, message: wordless ? withoutWords(error) : error.message };
}
