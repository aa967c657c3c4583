// A start without the main file: nothing of the others may be deleted.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { ranFolder, refusedFor, wholeAgain } from '../data-folders.ts';
import type { Scenario } from '../scenario.ts';

const scenario: Scenario = {
  name: 'database-not-mounted',
  attack: 'a start with sluice.db missing beside the rest of the data folder',
  bound: 'the start is refused, names the part and changes nothing; mended, books and log are complete',
  test: 'test/store/data-folder.test.ts',
  async run(lab) {
    const ran = await ranFolder(lab);
    const [here, away] = [join(ran.dataDir, 'sluice.db'), join(lab.folder, 'away')];
    renameSync(here, away);
    const refused = await refusedFor(lab, ran.dataDir, 'sluice.db');
    const again = await refusedFor(lab, ran.dataDir, 'sluice.db');
    renameSync(away, here);
    return [refused, again, ...(await wholeAgain(lab, ran))];
  },
};
export default scenario;
