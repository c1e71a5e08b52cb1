import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Creates a folder and those above it, unless they are there. What `mkdir` does with `recursive` never ends where nobody can
 * make one, such as in /proc, and keeps a thread busy.
 * @throws Error of the file system
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  const above = dirname(path)
  if (above !== path && !(await isThere(above))) await makeFolder(above, mode)
  try {
    await mkdir(path, { mode })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error
  }
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
