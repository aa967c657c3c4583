// A collector that takes all and keeps nothing, in a process of its own: its work is nobody's who is measured.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

const server = http.createServer((req, res) => {
  req.resume();
  req.on('end', () => res.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
// Ends with whoever started it.
process.stdin.resume().on('end', () => process.exit(0));
