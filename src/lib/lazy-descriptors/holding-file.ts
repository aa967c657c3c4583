// What a message, an enum and a service ask of the file that they are in.
import type { DescEnum, DescFile, DescMessage } from '@bufbuild/protobuf';

export interface HoldingFile extends DescFile {
  /** Finds what is in the file, and tells each part where it is; done once. */
  scan(): void;
  /** A message or an enum of this file or of one that it imports, by its full name. @throws Error: there is none */
  type(name: string): DescMessage | DescEnum;
}
