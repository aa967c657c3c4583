// A provider whose stream is millions of comment lines before its first event.
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const LINES = 3_000_000;
const PIECE = Buffer.from(':\n'.repeat(30_000));
const EVENT = `data: ${JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: 'stop' }],
})}\n\ndata: [DONE]\n\n`;

const scenario: Scenario = {
  name: 'comment-flood',
  attack: `a provider sends ${LINES} comment lines in a stream before its first event, translated and passed through`,
  bound: 'at most 64 MB; no turn over 50 ms; the event behind them arrives',
  test: 'test/lib/sse.test.ts',
  async run(lab) {
    const provider = net.createServer((socket) => answer(socket)).listen(0, '127.0.0.1');
    await once(provider, 'listening');
    lab.onEnd(() => void provider.close());
    const host = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const gateway = await lab.startGateway();
    const memoryMb = gateway.residentMb();
    let peak = memoryMb;
    const watch = setInterval(() => {
      peak = Math.max(peak, gateway.residentMb());
    }, 50);
    const texts = await Promise.all(
      ['/v1/chat/completions', '/v1/passed/through'].map((path) =>
        fetch(gateway.origin + path, {
          method: 'POST',
          headers: {
            'x-gateway-api-key': WORKSPACE_KEY,
            'x-gateway-provider': 'openai',
            'x-gateway-custom-host': host,
            authorization: 'Bearer sk-x',
            'content-type': 'application/json',
          },
          body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] }),
        }).then((response) => response.text()),
      ),
    );
    clearInterval(watch);
    return [
      isTrue(
        'the event behind the comments arrives',
        texts.every((text) => text.includes('hello')),
      ),
      isTrue('a caller is answered', await gateway.healthy()),
      atMost('memory at its peak', peak - memoryMb, 64, 'MB'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;

function answer(socket: net.Socket): void {
  socket.on('error', () => {});
  socket.once('data', () => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n');
    let sent = 0;
    const more = (): void => {
      while (sent < LINES && socket.writable) {
        sent += 30_000;
        if (!socket.write(PIECE)) return;
      }
      if (socket.writable) socket.end(EVENT);
    };
    socket.on('drain', more);
    more();
  });
}
