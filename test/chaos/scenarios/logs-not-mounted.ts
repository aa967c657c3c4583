// A start without the folder of the request log: the list of its files must outlive it, and so must the files.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { ranFolder, refusedFor, wholeAgain } from '../data-folders.ts';
import type { Scenario } from '../scenario.ts';

const scenario: Scenario = {
  name: 'logs-not-mounted',
  attack: 'a start with logs/ of the data folder not mounted',
  bound: 'the start is refused, names the part and changes nothing; mended, books and log are complete',
  test: 'test/store/data-folder.test.ts',
  async run(lab) {
    const ran = await ranFolder(lab);
    const [here, away] = [join(ran.dataDir, 'logs'), join(lab.folder, 'away')];
    renameSync(here, away);
    const refused = await refusedFor(lab, ran.dataDir, 'logs');
    const again = await refusedFor(lab, ran.dataDir, 'logs');
    renameSync(away, here);
    return [refused, again, ...(await wholeAgain(lab, ran))];
  },
};
export default scenario;
