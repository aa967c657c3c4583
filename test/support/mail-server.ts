// A mail server on a free loopback port that takes every message and keeps it (RFC 5321, as far as a client goes).

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

export interface MailServer {
  /** smtp://127.0.0.1:port */
  readonly url: string;
  /** Messages as they came, headers and text. */
  readonly messages: string[];
  close(): Promise<void>;
}

/** @param refuse answers every sender with a temporary failure */
export async function startMailServer({ refuse = false } = {}): Promise<MailServer> {
  const messages: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let waiting = '';
    let data: string[] | undefined;
    socket.write('220 mail.test\r\n');
    socket.on('data', (bytes) => {
      waiting += bytes.toString('utf8');
      for (let end = waiting.indexOf('\r\n'); end >= 0; end = waiting.indexOf('\r\n')) {
        const line = waiting.slice(0, end);
        waiting = waiting.slice(end + 2);
        if (data === undefined) socket.write(answerTo(line));
        else if (line === '.') {
          messages.push(data.join('\n'));
          data = undefined;
          socket.write('250 taken\r\n');
        } else data.push(line.startsWith('.') ? line.slice(1) : line);
        if (/^data$/i.test(line)) data = [];
      }
    });
  });
  const answerTo = (line: string): string => {
    if (/^(ehlo|helo)/i.test(line)) return '250 mail.test\r\n';
    if (/^mail/i.test(line) && refuse) return '451 later\r\n';
    if (/^data$/i.test(line)) return '354 go on\r\n';
    if (/^quit/i.test(line)) return '221 bye\r\n';
    return '250 fine\r\n';
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    messages,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
