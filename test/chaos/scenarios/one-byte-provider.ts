// A provider that answers in chunks of one byte.
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const BYTES = 4_000_000;

const scenario: Scenario = {
  name: 'one-byte-provider',
  attack:
    'a provider answers three calls at once with 4 MB each in chunks of one byte: whole, streamed, passed through',
  bound: 'at most 384 MB with a heap of 256 MB; no turn over 50 ms',
  test: 'test/lib/incoming/pieces.test.ts',
  async run(lab) {
    const provider = net.createServer((socket) => answer(socket)).listen(0, '127.0.0.1');
    await once(provider, 'listening');
    lab.onEnd(() => void provider.close());
    const host = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const gateway = await lab.startGateway({}, { nodeOptions: ['--max-old-space-size=256'] });
    const memoryMb = gateway.residentMb();
    let peak = memoryMb;
    const watch = setInterval(() => {
      peak = Math.max(peak, gateway.residentMb());
    }, 100);
    const call = (path: string, stream: boolean): Promise<number> =>
      fetch(gateway.origin + path, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': WORKSPACE_KEY,
          'x-gateway-provider': 'openai',
          'x-gateway-custom-host': host,
          authorization: 'Bearer sk-x',
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model: 'm', stream, messages: [{ role: 'user', content: 'x' }] }),
      }).then(
        async (response) => (await response.arrayBuffer()).byteLength,
        () => -1,
      );
    const got = await Promise.all([
      call('/v1/chat/completions', false),
      call('/v1/chat/completions', true),
      call('/v1/passed/through', false),
    ]);
    clearInterval(watch);
    return [
      isTrue(
        'all calls end with an answer',
        got.every((length) => length >= 0),
        got.join(),
      ),
      isTrue('a caller is answered', await gateway.healthy()),
      atMost('memory at its peak', peak - memoryMb, 384, 'MB'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;

function answer(socket: net.Socket): void {
  socket.on('error', () => {});
  socket.once('data', (request) => {
    const type = request.includes('"stream":true') ? 'text/event-stream' : 'application/json';
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ntransfer-encoding: chunked\r\n\r\n`);
    const chunks = Buffer.from('1\r\nx\r\n'.repeat(10_000));
    let sent = 0;
    const more = (): void => {
      while (sent < BYTES && socket.writable) {
        sent += 10_000;
        if (!socket.write(chunks)) return;
      }
      if (socket.writable) socket.end('0\r\n\r\n');
    };
    socket.on('drain', more);
    more();
  });
}
