// Headers that belong to one hop, and those that the gateway writes itself.

/** By lower-case name: of one hop (RFC 9110, part 7.6.1), and what frames a message. */
export const HOP_HEADERS: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'expect',
  'content-length',
  'content-type',
];
