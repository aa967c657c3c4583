// A provider of chat that streams what a test tells it to, when it is told to.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

type Json = Record<string, unknown>;

export interface PatientProvider {
  readonly origin: string;
  /** Answers under way. */
  readonly open: http.ServerResponse[];
  /** The bodies of all requests so far. */
  readonly asked: Json[];
  /** Says it in all answers under way. */
  say(text: string): void;
  end(): void;
  close(): void;
}

export async function startPatientProvider(): Promise<PatientProvider> {
  const open: http.ServerResponse[] = [];
  const asked: Json[] = [];
  const server = http.createServer((req, res) => {
    let body = '';
    req.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    req.on('end', () => {
      asked.push(JSON.parse(body) as Json);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.flushHeaders();
      open.push(res);
      res.on('close', () => void open.splice(open.indexOf(res), 1));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const chunk = (more: Json): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o', choices: [], ...more })}\n\n`;
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open,
    asked,
    say(content) {
      for (const res of open) res.write(chunk({ choices: [{ index: 0, delta: { content } }] }));
    },
    end() {
      const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
      for (const res of [...open])
        res.end(
          `${chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}${chunk({ usage })}data: [DONE]\n\n`,
        );
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
