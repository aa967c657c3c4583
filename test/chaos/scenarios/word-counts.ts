// An ordinary key has the words of long texts counted many times over.
import { countUnderAttack } from '../counting.ts';
import type { Scenario } from '../scenario.ts';

const scenario: Scenario = {
  name: 'word-counts',
  attack: 'an ordinary key sends 2 MB through 400 and through 200 wordCount checks',
  bound: '400 are a 400 with the path; 200 end within 5 s of a worker’s time; no turn over 50 ms',
  test: 'test/checks/closed.test.ts',
  run: (lab) =>
    countUnderAttack(lab, 'default.wordCount', { maxWords: 9_999_999 }, [
      'a '.repeat(1_000_000),
      '\u0130\u{1F9D1}\u200d '.repeat(400_000),
    ]),
};
export default scenario;
