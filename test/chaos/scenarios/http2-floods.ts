// Strangers on HTTP/2: streams that are reset as soon as they are opened, windows that grow without end, pings, settings,
// again as soon as the connection ends.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, isTrue, type Scenario, type Verdict } from '../scenario.ts';

const SECONDS = 20;
const WORKERS = 2;
const [HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE] = [1, 3, 4, 6, 8] as const;

function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS, 0, 0)]);
/** GET http://a/ in HPACK. */
const BLOCK = Buffer.concat([Buffer.from([0x82, 0x86, 0x84, 0x41, 1]), Buffer.from('a')]);
const CANCEL = Buffer.from([0, 0, 0, 8]);
const many = (count: number, one: (i: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, i) => one(i)));
const RESETS = many(2000, (i) =>
  Buffer.concat([frame(HEADERS, 5, 1 + 2 * i, BLOCK), frame(RST_STREAM, 0, 1 + 2 * i, CANCEL)]),
);

/** What follows the preface, and whether it is sent again for as long as the connection lasts. */
const FLOODS: Readonly<
  Record<string, { readonly bytes: Buffer; readonly again: boolean; readonly at: 'once' | 'later' }>
> = {
  'streams that are reset': { bytes: RESETS, again: false, at: 'later' },
  'streams that are reset, in one piece': { bytes: RESETS, again: false, at: 'once' },
  windows: {
    bytes: many(5000, () => frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1]))),
    again: true,
    at: 'later',
  },
  pings: { bytes: many(3000, () => frame(PING, 0, 0, Buffer.alloc(8))), again: true, at: 'later' },
  settings: { bytes: many(5000, () => frame(SETTINGS, 0, 0)), again: true, at: 'later' },
};

/** One connection, until it ends. */
function flood(
  port: number,
  { bytes, again, at }: (typeof FLOODS)[string],
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (): void => void socket.destroy();
    signal.addEventListener('abort', end);
    socket.on('error', () => {});
    socket.on('data', () => {});
    socket.on('close', () => {
      signal.removeEventListener('abort', end);
      resolve();
    });
    const more = (): void => {
      while (!socket.destroyed && socket.write(bytes) && again);
    };
    socket.on('connect', () => {
      socket.write(at === 'once' ? Buffer.concat([PREFACE, bytes]) : PREFACE);
      if (at === 'later') more();
    });
    if (again) socket.on('drain', more);
  });
}

const scenario: Scenario = {
  name: 'http2-floods',
  attack: `a stranger opens and resets streams of HTTP/2, grows windows, pings and sends settings as fast as it can for ${SECONDS} seconds each, on ${WORKERS} connections, new ones as soon as they end`,
  bound: 'at most 64 MB and 5 % of a core; no turn over 50 ms; a caller at the same address is answered',
  test: 'test/edge/rapid-resets.test.ts',
  async run(lab) {
    const gateway = await lab.startGateway();
    const caller = (): Promise<boolean> =>
      fetch(`${gateway.origin}/v1/models`, { headers: { 'x-gateway-api-key': WORKSPACE_KEY } }).then(
        async (answer) => {
          await answer.arrayBuffer();
          return answer.ok;
        },
        () => false,
      );
    for (let i = 0; i < 20; i++) await caller();
    await gateway.longestTurnMs();
    const verdicts: Verdict[] = [];
    for (const [what, one] of Object.entries(FLOODS)) {
      const [cpu, memory] = [gateway.cpuSeconds(), gateway.residentMb()];
      const stop = new AbortController();
      const workers = Array.from({ length: WORKERS }, async () => {
        while (!stop.signal.aborted) await flood(gateway.port, one, stop.signal);
      });
      let most = memory;
      let answered = true;
      for (let second = 0; second < SECONDS; second++) {
        await sleep(1000);
        most = Math.max(most, gateway.residentMb());
        answered = (await caller()) && answered;
      }
      stop.abort();
      await Promise.all(workers);
      verdicts.push(
        atMost(`${what}: CPU`, ((gateway.cpuSeconds() - cpu) / SECONDS) * 100, 5, '% of a core'),
        atMost(`${what}: memory`, most - memory, 64, 'MB'),
        atMost(`${what}: longest turn`, await gateway.longestTurnMs(), 50, 'ms'),
        isTrue(`${what}: a caller is answered each second`, answered),
      );
    }
    return verdicts;
  },
};
export default scenario;
