// The licences of the packages whose code the build holds: most ask that their text goes with the copy.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param modules paths of the files that were built @returns one text: each package, its version, its licence */
export function thirdPartyLicences(root: string, modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((id) => packageFolder(id) ?? []));
  folders.add(join(root, 'node_modules/swagger-ui-dist'));
  return [...folders]
    .sort()
    .map(licenceOf)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function packageFolder(id: string): string | undefined {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id.replace(/^\0/, ''))?.[0];
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${name} ${version} (${license ?? 'see below'})\n\n${texts.join('\n\n')}\n`;
}
