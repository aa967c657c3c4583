// What bounds WebSockets with peers that are not trusted: callers and providers.

/** Bytes that a frame's object takes in addition to its content. */
export const FRAME_OVERHEAD = 256;

/** Longest message of a session, in bytes: OpenAI takes 15 MiB of audio in one. */
export const MOST_MESSAGE = 16 * 1024 * 1024;

/** Options of `ws`, of both sides. */
export const WEBSOCKET_BOUNDS = {
  perMessageDeflate: false,
  // Thousands of tiny frames come in one read of a socket: each is told in a turn of the event loop of its own.
  allowSynchronousEvents: false,
} as const;
