// Bytes too many for a document, as a port: written once from the front to the end, read from the front.

/** Names are up to 100 letters, digits, "-" and "."; they begin with a letter or a digit. */
export interface BlobStore {
  /**
   * Appends bytes; resolves when they would survive kill -9. A second write at the same offset replaces what the first
   * one wrote there.
   * @param at the offset: how many bytes are stored before them
   * @throws GatewayError store_unavailable when they could not be written.
   */
  write(name: string, at: number, bytes: Uint8Array): Promise<void>;
  /** How many bytes are stored; 0 for an unknown name. */
  size(name: string): Promise<number>;
  /** The first `length` bytes, in pieces. @throws GatewayError store_unavailable when there are fewer. */
  read(name: string, length: number): AsyncIterable<Uint8Array>;
  /** Deletes all bytes; a missing blob is no error. */
  remove(name: string): Promise<void>;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/;

/** @throws Error for what is no name: names become file names. */
export function checkBlobName(name: string): string {
  if (!NAME.test(name)) throw new Error(`${name} is no name of a blob`);
  return name;
}
