// The folder that unknown files are moved to: files that this program did not list are never deleted.
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

export const LOST_AND_FOUND = 'lost+found';

/**
 * Moves something out of the way, into `lost+found/` of the data folder; where a part is a disk of its own, into
 * `lost+found/` of that. Answers where it is now.
 * @param folder where it is: the data folder or one of its parts @throws Error of the system
 */
export function setAside(dataDir: string, folder: string, name: string, at: Date = new Date()): string {
  const as = `${at.toISOString().replaceAll(/[:.]/g, '-')}-${name}`;
  try {
    return moved(join(folder, name), join(dataDir, LOST_AND_FOUND), as);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    return moved(join(folder, name), join(folder, LOST_AND_FOUND), as);
  }
}

function moved(from: string, folder: string, as: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const to = join(folder, as);
  renameSync(from, to);
  return to;
}
