// Options of the contract, read off a descriptor. protobuf-es makes a message type anew for each option that it reads, which
// costs ten times the read itself, and a start reads some thousand.
import { fromBinary, getOption, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';

/** The option's value, or the default of its type where it is not set: the same as `getOption` of protobuf-es. */
export const optionOf: typeof getOption = (element, option) => {
  const found = element.proto.options?.$unknown?.filter(({ no }) => no === option.number) ?? [];
  const value = found.length > 1 ? undefined : optionValue(found[0]?.data, option);
  return (value ?? getOption(element, option)) as never;
};

/** What is read here: messages that are set once, flags, texts and enums. */
function optionValue(data: Uint8Array | undefined, option: Parameters<typeof getOption>[1]): unknown {
  const reader = data && new BinaryReader(data);
  switch (option.fieldKind) {
    case 'message':
      return reader && fromBinary(option.message, reader.bytes());
    case 'enum':
      return reader?.int32();
    case 'scalar':
      if (option.scalar === ScalarType.BOOL) return reader?.bool() ?? false;
      return option.scalar === ScalarType.STRING ? (reader?.string() ?? '') : undefined;
    default:
      return undefined;
  }
}
