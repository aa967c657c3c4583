// Callers and strangers whose bodies come a byte at a time, for ever.
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const CONNECTIONS = 200;
const IDLE_MS = 5000;

const scenario: Scenario = {
  name: 'slow-bodies',
  attack: `${CONNECTIONS} connections announce a body and send a byte of it a second; half of them have a key`,
  bound:
    'strangers end at once, callers within two spans of GATEWAY_BODY_STALL_SECONDS; at most 64 MB, and 5 % of a core above what the gateway takes without them',
  test: 'test/edge/strangers.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway({ GATEWAY_BODY_STALL_SECONDS: '3' });
    // What its start left to do is no part of its idle time.
    await sleep(IDLE_MS);
    const idleCpu = gateway.cpuSeconds();
    await sleep(IDLE_MS);
    const idle = (100 * (gateway.cpuSeconds() - idleCpu)) / (IDLE_MS / 1000);
    await gateway.longestTurnMs();
    const memoryMb = gateway.residentMb();
    const cpu = gateway.cpuSeconds();
    const since = performance.now();
    let open = CONNECTIONS;
    const sockets = Array.from({ length: CONNECTIONS }, (_, i) => {
      const socket = net.connect(gateway.port, '127.0.0.1');
      const key = i % 2 === 0 ? '' : `x-gateway-api-key: ${WORKSPACE_KEY}\r\n`;
      socket.on('error', () => {});
      socket.on('close', () => {
        open--;
      });
      socket.resume();
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n${key}content-type: application/json\r\ncontent-length: 5000\r\n\r\n`,
      );
      return socket;
    });
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write(' ');
    }, 1000);
    lab.onEnd(() => {
      clearInterval(drip);
      for (const socket of sockets) socket.destroy();
    });
    await sleep(2500);
    const strangersGone = open <= CONNECTIONS / 2;
    await sleep(6000);
    const callersGone = open === 0;
    const seconds = (performance.now() - since) / 1000;
    return [
      isTrue('strangers are gone within 2.5 s', strangersGone),
      isTrue('callers are gone within 8.5 s', callersGone, `${open} left`),
      isTrue('a caller is answered', await gateway.healthy()),
      atMost('memory', gateway.residentMb() - memoryMb, 64, 'MB'),
      atMost(
        `share of a core, above ${idle.toFixed(1)} % without them`,
        (100 * (gateway.cpuSeconds() - cpu)) / seconds - idle,
        5,
        '%',
      ),
      atMost('longest turn of the event loop', await gateway.longestTurnMs(), 50, 'ms'),
    ];
  },
};
export default scenario;
