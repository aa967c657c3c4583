// Bytes on an HTTP/1 connection that are no request.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers to what is no request yet: its path is not known. */
const BAD = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';
const TOO_LONG = tooLong('the address and the headers have more than 65536 bytes');

/** @param answers of this connection that are not complete: nothing is written in their middle, or in their place */
export function onBadBytes(
  error: NodeJS.ErrnoException,
  socket: Socket,
  answers: ReadonlySet<ServerResponse>,
): void {
  const last = [...answers].at(-1);
  if (last?.req.complete) {
    // They follow a request that is being answered: it is answered, and then the connection ends.
    for (const res of answers) {
      if (!res.headersSent) res.shouldKeepAlive = answers.size > 1 && res !== last;
    }
    last.once('finish', () => socket.destroySoon());
    return;
  }
  // In the body of the last request.
  if (last !== undefined && (last.headersSent || answers.size > 1)) socket.destroy();
  else if (socket.writable) socket.end(error.code === 'HPE_HEADER_OVERFLOW' ? TOO_LONG : BAD);
  // The answer is already written; the connection ends after it.
  else if (!socket.writableEnded) socket.destroy();
}

function tooLong(message: string): string {
  const error = { message, type: 'invalid_request_error', param: null, code: 'headers_too_large' };
  const body = JSON.stringify({ status: 'failure', message, error });
  return (
    'HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n' +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  );
}
