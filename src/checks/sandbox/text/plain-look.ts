// A text as people and models read it, for a second look of checks that forbid words: without characters that are not
// seen, in the compatible forms of Unicode (NFKC), and with letters of other scripts within a Latin word as the Latin
// letters that they look like. What is sent on stays as it came.

const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;
/** Tags repeat ASCII without being seen; models read them. */
const TAG = /[\u{e0020}-\u{e007e}]/gu;
const FIRST_TAG = 0xe0000;
const WORD = /[\p{L}\p{M}]+/gu;

/** Letters that look like a Latin one, and these. */
const ALIKE = new Map(
  [
    ['авеорсухіѕјһԁԛԝѵкАВЕКМНОРСТУХІЅЈ', 'aBeopcyxisjhdqwvkABEKMHOPCTYXISJ'],
    ['αοριντυκχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ', 'aopivtukxABEZHIKMNOPTYX'],
    ['ɡɑıǀӀ', 'gailI'],
  ].flatMap(([alike = '', latin = '']) => [...alike].map((letter, i) => [letter, latin[i]!] as const)),
);

/** The text so; the same one where nothing is hidden. Linear. */
export function plainLook(text: string): string {
  // Most texts are ASCII, or have nothing of this.
  if (!/[^\t\n\r -~]/.test(text)) return text;
  let tagged = '';
  for (const [tag] of text.matchAll(TAG)) tagged += String.fromCodePoint(tag.codePointAt(0)! - FIRST_TAG);
  const seen = text.replace(UNSEEN, '').normalize('NFKC').replace(WORD, latinWord);
  return tagged === '' ? seen : `${seen}\n${tagged}`;
}

/** A word of Latin letters and such that look like them. */
function latinWord(word: string): string {
  if (!/[a-z]/i.test(word)) return word;
  let latin = '';
  for (const letter of word) latin += ALIKE.get(letter) ?? letter;
  return latin;
}

/** The words that a text holds, in the order given. @param twice also those that it holds as it is read */
export function wordsIn(text: string, words: readonly string[], twice: boolean): readonly string[] {
  const look = twice ? plainLook(text) : text;
  if (look === text) return words.filter((word) => text.includes(word));
  return words.filter((word) => {
    const asRead = plainLook(word);
    return text.includes(word) || (asRead !== '' && look.includes(asRead));
  });
}
