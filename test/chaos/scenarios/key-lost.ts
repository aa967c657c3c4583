// A start without the encryption key: a new one would make what is stored unreadable for good.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { ranFolder, refusedFor, wholeAgain } from '../data-folders.ts';
import type { Scenario } from '../scenario.ts';

const scenario: Scenario = {
  name: 'key-lost',
  attack: 'a start with encryption.key lost beside existing data',
  bound: 'the start is refused, names the part and changes nothing; mended, books and log are complete',
  test: 'test/store/data-folder.test.ts',
  async run(lab) {
    const ran = await ranFolder(lab);
    const [here, away] = [join(ran.dataDir, 'encryption.key'), join(lab.folder, 'away')];
    renameSync(here, away);
    const refused = await refusedFor(lab, ran.dataDir, 'encryption.key');
    const again = await refusedFor(lab, ran.dataDir, 'encryption.key');
    renameSync(away, here);
    return [refused, again, ...(await wholeAgain(lab, ran))];
  },
};
export default scenario;
