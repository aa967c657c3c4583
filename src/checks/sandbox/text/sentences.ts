// Sentences end with ., !, ? or their like at the end of a word, so that 3.14, a.b or ... are no ends of their own. A last
// piece without an end is a sentence too.

const ENDS = '.!?…؟।';
/** Full-width ends, which no white space follows. */
const WIDE_ENDS = '。！？｡';
const CLOSERS = '"\'”’)]»」』）';
/** Numbers of a list, `1.` or `12.` at the beginning of a line, end nothing. */
const LIST_NUMBER = /^[ \t]{0,20}\d{1,4}\.(?=[ \t])/gm;
const WORD = /[\p{L}\p{N}]/u;

/** Sentences of a text, in one pass: a pattern for this would look at a run of dots once for each of them. */
export function countSentences(text: string): number {
  const prose = text.replace(LIST_NUMBER, '');
  let sentences = 0;
  let from = 0;
  for (let i = 0; i < prose.length; i++) {
    if (!isEnd(prose[i]!)) continue;
    let wide = false;
    for (; i < prose.length && isEnd(prose[i]!); i++) wide ||= WIDE_ENDS.includes(prose[i]!);
    while (i < prose.length && CLOSERS.includes(prose[i]!)) i++;
    if (!wide && i < prose.length && !/\s/.test(prose[i]!)) continue;
    if (WORD.test(prose.slice(from, i))) sentences++;
    from = i;
    // The character after the run has not been looked at.
    i--;
  }
  return WORD.test(prose.slice(from)) ? sentences + 1 : sentences;
}

function isEnd(char: string): boolean {
  return ENDS.includes(char) || WIDE_ENDS.includes(char);
}
