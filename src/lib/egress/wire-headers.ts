// Which header pairs of a request go onto the wire.

/**
 * Leaves out what belongs to one connection or what the dialer itself decides: host (it would also choose the name
 * in the TLS handshake), connection and its kind (RFC 9110, part 7.6.1), expect, and content-length of a body whose
 * length is known. The very array is returned when there is nothing to leave out.
 */
export function wireHeaders(pairs: readonly string[], lengthKnown: boolean): readonly string[] {
  for (let i = 0; i < pairs.length; i += 2) {
    if (isOurs(pairs[i]!, lengthKnown)) return without(pairs, lengthKnown);
  }
  return pairs;
}

function without(pairs: readonly string[], lengthKnown: boolean): readonly string[] {
  const kept: string[] = [];
  for (let i = 0; i < pairs.length; i += 2) {
    if (!isOurs(pairs[i]!, lengthKnown)) kept.push(pairs[i]!, pairs[i + 1]!);
  }
  return kept;
}

/** Compares the length first: this runs for every header of every request. */
function isOurs(name: string, lengthKnown: boolean): boolean {
  switch (name.length) {
    case 4:
      return name.toLowerCase() === 'host';
    case 6:
      return name.toLowerCase() === 'expect';
    case 7:
      return name.toLowerCase() === 'upgrade';
    case 10: {
      const lower = name.toLowerCase();
      return lower === 'connection' || lower === 'keep-alive';
    }
    case 14:
      return lengthKnown && name.toLowerCase() === 'content-length';
    case 16:
      return name.toLowerCase() === 'proxy-connection';
    case 17:
      return name.toLowerCase() === 'transfer-encoding';
    case 19:
      return name.toLowerCase() === 'proxy-authorization';
    default:
      return false;
  }
}
