// A file of the request log that a full disk or a broken copy cut short.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listed, ranFolder, wholeAgain } from '../data-folders.ts';
import { atMost, isTrue, type Scenario } from '../scenario.ts';

const scenario: Scenario = {
  name: 'truncated-segment',
  attack: 'a file of the request log is cut short, or a folder stands in its place',
  bound:
    'the rest is listed; the file is named once in the process log and counted in /metrics; mended, all is there',
  test: 'test/store/log-embedded.test.ts',
  async run(lab) {
    const ran = await ranFolder(lab);
    const [file = ''] = readdirSync(join(ran.dataDir, 'logs')).filter((name) => name.startsWith('entries-'));
    const path = join(ran.dataDir, 'logs', file);
    const whole = readFileSync(path);
    truncateSync(path, statSync(path).size >> 1);
    const gateway = await lab.startGateway({}, { dataDir: ran.dataDir });
    const found = [await listed(gateway), await listed(gateway), await listed(gateway)];
    const told = gateway.child
      .output()
      .split('\n')
      .filter((line) => line.includes(file)).length;
    const metrics = await (await fetch(`${gateway.origin}/metrics`)).text();
    const least = Math.min(...found);
    await gateway.child.stop();
    rmSync(path);
    mkdirSync(path);
    const beside = await lab.startGateway({}, { dataDir: ran.dataDir });
    const left = await listed(beside);
    const named = beside.child.output().includes(file);
    await beside.child.stop();
    rmSync(path, { recursive: true });
    writeFileSync(path, whole);
    return [
      isTrue('lists are served without it', least > 0 && least < ran.entries, found.join(', ')),
      atMost('entries left out', ran.entries - least, 20, 'entries'),
      isTrue('it is named once in the process log', told === 1, String(told)),
      isTrue('a folder in its place: the rest is listed, and it is named', left > 0 && named, String(left)),
      isTrue('it is counted in /metrics', /^sluice_request_log_damaged [1-9]/m.test(metrics)),
      ...(await wholeAgain(lab, ran)),
    ];
  },
};
export default scenario;
