// Whom TLS trusts: the default roots, and those of GATEWAY_EXTRA_CA.
import { X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * One TLS context for every connection, made at the first call: reading some 150 roots takes milliseconds.
 * @param extraCa certificates in PEM beside the default roots
 * @throws Error when the text holds no certificate or one that cannot be read
 */
export function trust(extraCa: string | undefined): () => SecureContext {
  const extra = extraCa === undefined ? [] : readCertificates(extraCa);
  let context: SecureContext | undefined;
  return () => {
    // Naming `ca` replaces the defaults, so they are listed with it.
    context ??= createSecureContext(
      extra.length === 0 ? {} : { ca: [...getCACertificates('default'), ...extra] },
    );
    return context;
  };
}

function readCertificates(pem: string): readonly string[] {
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0) throw new Error('the extra certificate authorities hold no PEM certificate');
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch (cause) {
      throw new Error(`certificate ${index + 1} of the extra certificate authorities cannot be read`, {
        cause,
      });
    }
  }
  return blocks;
}
