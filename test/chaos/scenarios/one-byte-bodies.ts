// A caller who sends a long body in chunks of one byte.
import net from 'node:net';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const BYTES = 4_000_000;
const CHUNKS = Buffer.from('1\r\n \r\n'.repeat(10_000));

const scenario: Scenario = {
  name: 'one-byte-bodies',
  attack:
    'a stranger and a caller each send 4 MB of a body in chunks of one byte, over REST and over Connect',
  bound: 'at most 384 MB with a heap of 256 MB; the stranger is refused from the headers; no turn over 50 ms',
  test: 'test/edge/strangers.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway({}, { nodeOptions: ['--max-old-space-size=256'] });
    const memoryMb = gateway.residentMb();
    let peak = memoryMb;
    const watch = setInterval(() => {
      peak = Math.max(peak, gateway.residentMb());
    }, 100);
    const paths = ['/v1/chat/completions', '/gateway.inference.v2.ChatService/CreateChatCompletion'];
    const answers = await Promise.all(
      paths.flatMap((path) => [undefined, WORKSPACE_KEY].map((key) => send(gateway.port, path, key))),
    );
    clearInterval(watch);
    return [
      isTrue('strangers get 401, callers 400', answers.join() === '401,400,401,400', answers.join()),
      isTrue('a caller is answered', await gateway.healthy()),
      atMost('memory at its peak', peak - memoryMb, 384, 'MB'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;

/** The status of the answer. */
function send(port: number, path: string, key: string | undefined): Promise<string> {
  return new Promise((resolve) => {
    let got = '';
    let sent = 0;
    const socket = net.connect(port, '127.0.0.1');
    const more = (): void => {
      while (sent < BYTES && socket.writable) {
        sent += 10_000;
        if (!socket.write(CHUNKS)) return;
      }
      if (socket.writable && sent >= BYTES) socket.write('0\r\n\r\n');
    };
    socket.on('error', () => {});
    socket.on('drain', more);
    socket.on('data', (bytes) => {
      got += bytes.toString('latin1');
      socket.destroy();
    });
    socket.on('close', () => resolve(/^HTTP\/1\.1 (\d+)/.exec(got)?.[1] ?? `nothing (${got.slice(0, 50)})`));
    const auth = key === undefined ? '' : `x-gateway-api-key: ${key}\r\n`;
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\n${auth}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    more();
  });
}
