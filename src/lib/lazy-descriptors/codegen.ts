// What the generated code calls to make its descriptors, in the place of protobuf-es' own functions in the build. Those decode a
// file and build all that is in it when the program starts; here a message, an enum and a service are built when they are
// first read, and a start reads few of them.
import type { DescEnum, DescFile, DescMessage, DescService } from '@bufbuild/protobuf';
import { LazyFile } from './lazy-file.ts';

/** A file by its descriptor in base64. @param imports what it imports, in any order */
export function fileDesc(base64: string, imports: readonly DescFile[] = []): DescFile {
  return new LazyFile(base64, imports);
}

/** @param path where it is among the file's messages, and further among the messages nested in it */
export function messageDesc(file: DescFile, path: number, ...paths: number[]): DescMessage {
  const top = file instanceof LazyFile ? file.messageAt(path) : file.messages[path];
  return paths.reduce((outer, each) => outer.nestedMessages[each] as DescMessage, top as DescMessage);
}

/** @param path where it is among the file's enums, or in a message: its path, and where it is among those nested in it */
export function enumDesc(file: DescFile, path: number, ...paths: number[]): DescEnum {
  const last = paths.pop();
  if (last !== undefined) return messageDesc(file, path, ...paths).nestedEnums[last] as DescEnum;
  return file instanceof LazyFile ? file.enumAt(path) : (file.enums[path] as DescEnum);
}

export function serviceDesc(file: DescFile, path: number): DescService {
  return file instanceof LazyFile ? file.serviceAt(path) : (file.services[path] as DescService);
}
