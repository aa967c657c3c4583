// The files of src/deploy, read.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../architecture/tools.ts';

/** A value of YAML or JSON. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };
export type Entries = { readonly [name: string]: Value };

const folder = join(ROOT, 'src', 'deploy');

export function textOf(name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}

/** The documents of a YAML file. @throws Error for a fault, a warning or a member that is given twice */
export function yamlOf(name: string): Entries[] {
  return parseAllDocuments(textOf(name), { uniqueKeys: true, strict: true }).map((document) => {
    for (const fault of [...document.errors, ...document.warnings])
      throw new Error(`${name}: ${fault.message}`);
    return document.toJS() as Entries;
  });
}

/** The manifests of the kustomize base, with the file of each. */
export function manifests(): { readonly file: string; readonly manifest: Entries }[] {
  return readdirSync(join(folder, 'kubernetes'))
    .filter((file) => file !== 'kustomization.yaml')
    .flatMap((file) => yamlOf(`kubernetes/${file}`).map((manifest) => ({ file, manifest })));
}

/** The value at a path of members and indexes; undefined where there is none. */
export function at(value: Value | undefined, ...path: readonly (string | number)[]): Value | undefined {
  return path.reduce<Value | undefined>(
    (found, step) =>
      typeof found === 'object' && found !== null
        ? (found as { readonly [key: string]: Value })[step]
        : undefined,
    value,
  );
}
