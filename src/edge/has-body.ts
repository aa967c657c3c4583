// Whether a request brings a body.
import type { IncomingMessage } from 'node:http';

export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  if (length !== undefined) return length !== '0';
  return (
    req.headers['transfer-encoding'] !== undefined || (req.httpVersionMajor === 2 && req.method !== 'GET')
  );
}
