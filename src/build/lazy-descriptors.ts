// Generated code whose descriptors are built when they are first read: building all of them takes a third of the start.
import { readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { Plugin } from 'rolldown';

/** What generated code makes its descriptors with. */
const CODEGEN = '@bufbuild/protobuf/codegenv2';

/** Files with extensions are read whole: each start needs them. */
const EXTENSION = /\bextDesc\(/;

/** @param root of the project */
export function lazyDescriptors(root: string): Plugin {
  const generated = join(root, 'gen') + sep;
  const lazy = join(root, 'src/lib/lazy-descriptors/codegen.ts');
  return {
    name: 'lazy-descriptors',
    resolveId(id, importer) {
      if (id !== CODEGEN || importer === undefined || !importer.startsWith(generated)) return null;
      return EXTENSION.test(readFileSync(importer, 'utf8')) ? null : lazy;
    },
  };
}
