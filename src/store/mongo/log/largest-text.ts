/** Bytes of one entry's bodies as JSON, unpacked, at the most. */
export const LARGEST_TEXT = 256 * 1024 * 1024;
