// Files in folders that the operator listed, as orchestrators mount secrets.
import { constants } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { isAbsolute, sep } from 'node:path';
import { secretFailure } from './failure.ts';
import { MOST_SECRET_BYTES, type SecretManager } from './manager.ts';

/** The path is absolute; links in it are followed before it is judged. @param folders GATEWAY_SECRET_FILE_ALLOW */
export function fileSecrets(folders: readonly string[]): SecretManager {
  return {
    async read({ path }) {
      const file = await allowedFile(path, folders);
      // A link that takes the file's place now is not followed, and a pipe does not make anybody wait.
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      const handle = await open(file, flags).catch((error: unknown) => {
        throw secretFailure(isBusy(error) ? 'outage' : 'missing', 'the file cannot be read', error);
      });
      try {
        const { size } = await handle.stat().then((stat) => {
          if (stat.isFile()) return stat;
          throw secretFailure('invalid', 'secret_path: is no file');
        });
        if (size > MOST_SECRET_BYTES)
          throw secretFailure('invalid', `the file has more than ${MOST_SECRET_BYTES} bytes`);
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(size), 0, size, 0);
        return buffer.toString('utf8', 0, bytesRead).replace(/\r?\n$/, '');
      } finally {
        await handle.close();
      }
    },
  };
}

/** Whether the machine cannot read anything now: that says nothing of the file. */
function isBusy(error: unknown): boolean {
  const { code = '' } = error as { readonly code?: string };
  return ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EBUSY', 'EAGAIN', 'ESTALE', 'ETIMEDOUT'].includes(code);
}

/** The file without links. What is not in a listed folder and what is not there are answered alike. */
async function allowedFile(path: string, folders: readonly string[]): Promise<string> {
  const closed = () =>
    secretFailure('closed', 'secret_path: is no file in a folder that the operator listed');
  if (!isAbsolute(path) || path.includes('\0') || path.split(/[/\\]/).includes('..')) throw closed();
  const real = await realpath(path).catch((error: unknown) => {
    if (isBusy(error)) throw secretFailure('outage', 'the file cannot be read now', error);
    return undefined;
  });
  if (real === undefined) throw closed();
  for (const folder of folders) {
    const root = await realpath(folder).catch(() => undefined);
    if (root !== undefined && real.startsWith(root.endsWith(sep) ? root : root + sep)) return real;
  }
  throw closed();
}
