// Bytes too many for a document, as a port: written once from the front to the end, read from the front.

/** Names are up to 100 letters, digits, "-" and "."; they begin with a letter or a digit. */
export interface BlobStore {
  /**
   * Writes bytes behind the ones before; resolves when they would survive kill -9. Again at the same place it replaces
   * what it wrote there.
   * @param at how many bytes are there before them
   * @throws GatewayError store_unavailable when they could not be written.
   */
  write(name: string, at: number, bytes: Uint8Array): Promise<void>;
  /** How many bytes there are; 0 for a name that nothing was written under. */
  size(name: string): Promise<number>;
  /** The first `length` bytes, in pieces. @throws GatewayError store_unavailable when there are fewer. */
  read(name: string, length: number): AsyncIterable<Uint8Array>;
  /** Takes all bytes away; none there is no error. */
  remove(name: string): Promise<void>;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$/;

/** @throws Error for what is no name: names become file names. */
export function checkBlobName(name: string): string {
  if (!NAME.test(name)) throw new Error(`${name} is no name of a blob`);
  return name;
}
