// default.containsCode: the text has a fenced block (CommonMark 0.31, part 4.5) in a language.
import { defineCheck } from './contract/define.ts';
import { flag, required, text } from './contract/fields.ts';
import { judge } from './contract/judge.ts';
import { examinedTexts } from './view/examined.ts';

/** Languages, and the words that mean them after a fence, in addition to their own names. */
const LANGUAGES: Readonly<Record<string, readonly string[]>> = {
  SQL: ['mysql', 'postgresql', 'postgres', 'psql', 'plsql', 'tsql', 'sqlite'],
  Python: ['py', 'python3', 'py3'],
  TypeScript: ['ts', 'tsx'],
  JavaScript: ['js', 'jsx', 'mjs', 'cjs', 'node'],
  Java: [],
  'C#': ['cs', 'csharp'],
  'C++': ['cpp', 'cc', 'cxx', 'hpp'],
  C: ['h'],
  Ruby: ['rb'],
  PHP: [],
  Swift: [],
  Kotlin: ['kt', 'kts'],
  Go: ['golang'],
  Rust: ['rs'],
  Scala: [],
  R: [],
  Perl: ['pl'],
  Shell: ['sh', 'bash', 'zsh', 'console', 'shell-session'],
  HTML: ['htm'],
  CSS: [],
  XML: [],
  JSON: ['jsonc', 'json5'],
  YAML: ['yml'],
  Markdown: ['md'],
  Dockerfile: ['docker'],
};

const byWord = new Map(
  Object.entries(LANGUAGES).flatMap(([name, words]) =>
    [name.toLowerCase(), ...words].map((word) => [word, name] as const),
  ),
);

const languageOf = (word: string): string => byWord.get(word.toLowerCase()) ?? word;

export const containsCode = defineCheck({
  id: 'default.containsCode',
  events: ['input', 'output'],
  // Any language may be asked for: a fence may name one that this file does not know.
  fields: { format: required(text(50)), not: flag() },
  reach: ({ not }) => (not ? 'edge' : 'whole'),
  async run(context, { format, not }, { sandbox }) {
    const wanted = languageOf(format).toLowerCase();
    const texts = await examinedTexts(context, true, sandbox);
    const languages = await sandbox.examine(context.traffic, 'fences', texts);
    return judge(texts, not, (_, index) => {
      const foundFormats = (languages[index] ?? []).map(languageOf);
      const found = foundFormats.some((name) => name.toLowerCase() === wanted);
      return {
        found,
        data: { searchedFormat: format, foundFormats },
        explain: () =>
          foundFormats.length === 0
            ? 'No code blocks found in the text'
            : `${found ? 'Found code block(s)' : 'No code blocks'} in ${format} format${found ? '' : ' found'}`,
      };
    });
  },
});
