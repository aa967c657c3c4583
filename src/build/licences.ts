// The licences of the packages whose code the build holds: most ask that their text goes with the copy.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param modules paths of the files that were built @returns one text: packages with their versions, then their licence */
export function thirdPartyLicences(root: string, modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((id) => packageFolder(id) ?? []));
  folders.add(join(root, 'node_modules/swagger-ui-dist'));
  // Packages with the same texts, to the letter, share them.
  const byText = new Map<string, string[]>();
  for (const folder of [...folders].sort()) {
    const { head, text } = licenceOf(folder);
    byText.set(text, [...(byText.get(text) ?? []), head]);
  }
  return [...byText]
    .map(([text, heads]) => `${heads.join('\n')}\n\n${text}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function packageFolder(id: string): string | undefined {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id.replace(/^\0/, ''))?.[0];
}

/** What a package is called, and its licence. */
function licenceOf(folder: string): { readonly head: string; readonly text: string } {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return { head: `${name} ${version} (${license ?? 'see below'})`, text: texts.join('\n\n') };
}
