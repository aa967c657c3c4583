// Strangers who open many gRPC streams and send as much as flow control lets them.
import http2 from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const CONNECTIONS = 4;
const STREAMS = 200;
const BYTES = 24 * 1024 * 1024;
const SECONDS = 5;

const scenario: Scenario = {
  name: 'grpc-strangers',
  attack: `a stranger opens ${STREAMS} gRPC streams on four connections and sends a message of 24 MiB on each`,
  bound: 'at most 64 MB; the streams are refused from their headers; callers are answered',
  test: 'test/edge/strangers.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway();
    const memoryMb = gateway.residentMb();
    let peak = memoryMb;
    const watch = setInterval(() => {
      peak = Math.max(peak, gateway.residentMb());
    }, 100);
    const sessions = Array.from({ length: CONNECTIONS }, () => {
      const session = http2.connect(gateway.origin);
      session.on('error', () => {});
      lab.onEnd(() => session.destroy());
      return session;
    });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(BYTES, 1);
    let refused = 0;
    for (let i = 0; i < STREAMS; i++) {
      const stream = sessions[i % CONNECTIONS]!.request({
        ':method': 'POST',
        ':path': '/gateway.inference.v2.ChatService/CreateChatCompletion',
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      stream.on('error', () => {});
      const count = (headers: http2.IncomingHttpHeaders): void => {
        if (headers['grpc-status'] === '16') refused++;
      };
      stream.on('response', count).on('trailers', count);
      stream.resume();
      stream.write(prefix);
      const piece = Buffer.alloc(65_536);
      const more = (): void => {
        while (!stream.destroyed && !stream.closed && stream.write(piece));
      };
      stream.on('drain', more);
      more();
    }
    await sleep(SECONDS * 1000);
    clearInterval(watch);
    const answered = await gateway.healthy();
    return [
      isTrue('a caller is answered', answered),
      isTrue('all streams are refused', refused === STREAMS, `${refused} of ${STREAMS}`),
      atMost('memory at its peak', peak - memoryMb, 64, 'MB'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
