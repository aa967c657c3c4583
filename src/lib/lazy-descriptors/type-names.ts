// Types of files that protobuf-es made, by their full names.
import type { DescEnum, DescFile, DescMessage } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';

const known = new WeakMap<DescFile, ReadonlyMap<string, DescMessage | DescEnum>>();

export function namesOf(file: DescFile): ReadonlyMap<string, DescMessage | DescEnum> {
  const found = known.get(file);
  if (found !== undefined) return found;
  const names = new Map<string, DescMessage | DescEnum>();
  for (const type of nestedTypes(file))
    if (type.kind === 'message' || type.kind === 'enum') names.set(type.typeName, type);
  known.set(file, names);
  return names;
}
