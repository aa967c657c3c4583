// A way to the gateway for programs that cannot send a key: it adds one, and changes nothing else.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export async function startKeyedProxy(
  origin: string,
  path: string,
  key: string,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const { hostname, port } = new URL(origin);
  const server = http.createServer((req, res) => {
    const out = http.request(
      { hostname, port, path, method: req.method, headers: { ...req.headers, 'x-gateway-api-key': key } },
      (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
      },
    );
    out.on('error', () => res.destroy());
    res.on('close', () => out.destroy());
    req.pipe(out);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
