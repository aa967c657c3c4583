// Why the port cannot be bound, for people: the setting, and what to do.
import type { Settings } from '../settings.ts';

/** The error of a listener as one that names `HOST` or `PORT`; any other as it is. */
export function listenError(cause: unknown, { host, port }: Pick<Settings, 'host' | 'port'>): unknown {
  const text = textOf((cause as NodeJS.ErrnoException).code, host, port);
  return text === undefined ? cause : new Error(text, { cause });
}

function textOf(code: string | undefined, host: string, port: number): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `PORT: ${port} on ${host} is in use by another program: end that one, or set PORT to another port`;
    case 'EACCES':
      return `PORT: this user may not listen on ${port}: set PORT to one of 1024 or above`;
    case 'EADDRNOTAVAIL':
      return `HOST: ${host} is no address of this machine: set HOST to one that is, e.g. 127.0.0.1 or 0.0.0.0`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST: ${host} cannot be resolved: set HOST to an address, e.g. 127.0.0.1 or 0.0.0.0`;
    default:
      return undefined;
  }
}
