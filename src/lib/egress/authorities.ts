// The authorities that TLS trusts (the default roots, those of GATEWAY_EXTRA_CA, those of one integration) and the
// client certificate that it presents.
import { X509Certificate } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * One TLS context for every connection, made at the first call: reading some 150 roots takes milliseconds.
 * @param extraCa certificates in PEM, trusted in addition to the default roots
 * @param proof a certificate and its key in PEM, for targets that ask for one
 * @throws Error when the text holds no certificate or one that cannot be read
 */
export function trust(
  extraCa: string | undefined,
  proof?: { readonly cert: string; readonly key: string },
): () => SecureContext {
  const extra = extraCa === undefined ? [] : readCertificates(extraCa);
  let context: SecureContext | undefined;
  return () => {
    // Naming `ca` replaces the defaults, so they are listed with it.
    context ??= createSecureContext({
      ...proof,
      ...(extra.length === 0 ? {} : { ca: [...getCACertificates('default'), ...extra] }),
    });
    return context;
  };
}

/** The certificates in a text, each in PEM. @throws Error as `trust`; no message repeats the text. */
export function readCertificates(pem: string, what = 'the extra certificate authorities'): readonly string[] {
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0) throw new Error(`${what} hold no PEM certificate`);
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch (cause) {
      throw new Error(`certificate ${index + 1} of ${what} cannot be read`, { cause });
    }
  }
  return blocks;
}
