// Looks names up by the system's resolver.
import { promises as dns } from 'node:dns';
import type { NameResolver } from '../contract/check.ts';
import { orAbort } from './deadline.ts';

/** Codes that mean that a name has no address, and not that the lookup failed. */
const ABSENT = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NONAME', 'EAI_NODATA']);

/** The system's resolver. */
export const systemResolver: NameResolver = {
  async exists(host, signal) {
    try {
      await orAbort(dns.lookup(host), signal);
      return true;
    } catch (error) {
      if (error instanceof Error && 'code' in error && ABSENT.has(String(error.code))) return false;
      throw error;
    }
  },
};
