// Strangers who open HTTP/2 connections and stop half-way: the preface alone, settings, a header block without its end.
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const CONNECTIONS = 900;
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
/** HEADERS on stream 1 without END_HEADERS. */
const HEADERS = Buffer.from([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]);

const scenario: Scenario = {
  name: 'half-open-http2',
  attack: `a stranger opens ${CONNECTIONS} connections with the preface of HTTP/2 alone, with settings, or with an unfinished header block`,
  bound: 'at most 64 MB; 256 of them live longer than a moment; callers are answered',
  test: 'test/edge/held-connections.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway();
    const memoryMb = gateway.residentMb();
    let open = 0;
    const sockets = Array.from({ length: CONNECTIONS }, (_, i) => {
      const socket = net.connect(gateway.port, '127.0.0.1', () => open++);
      socket.on('error', () => {});
      socket.on('close', () => open--);
      socket.resume();
      socket.write(PREFACE);
      if (i % 3 > 0) socket.write(SETTINGS);
      if (i % 3 > 1) socket.write(HEADERS);
      return socket;
    });
    lab.onEnd(() => sockets.forEach((socket) => void socket.destroy()));
    await sleep(5000);
    return [
      isTrue('at most 256 are left', open <= 256, `${open}`),
      isTrue('a caller is answered', await gateway.healthy()),
      atMost('memory', gateway.residentMb() - memoryMb, 64, 'MB'),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
