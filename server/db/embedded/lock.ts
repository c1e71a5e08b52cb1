import { randomBytes } from 'node:crypto'
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startTime } from './processes.ts'

/** A lock this process holds until it releases it or dies. */
export interface Lock {
  release(): Promise<void>
}

const RELEASED = 'released\n'

/**
 * Takes the lock `name` in `dir` for this process, or returns the pid of the process that holds it; never waits.
 *
 * The lock is the file `<name>.<n>` with the highest n; it contains the pid and start time of its owner, so it dies
 * with that process, even by `kill -9`. A dead owner's lock is taken over by creating n + 1, which only one contender
 * can do; nobody ever deletes the highest file, so there is no moment in which a slow contender could remove a fresh
 * lock. It holds among processes that see each other: containers that share a volume do not.
 */
export async function takeLock(dir: string, name: string): Promise<Lock | { heldBy: number }> {
  const start = await startTime(process.pid)
  for (;;) {
    const newest = await newestNumber(dir, name)
    const owner = newest > 0 ? await readOwner(join(dir, `${name}.${newest}`)) : undefined
    if (owner && (await startTime(owner.pid)) === owner.start) return { heldBy: owner.pid }
    const file = join(dir, `${name}.${newest + 1}`)
    if (!(await createWhole(file, `${process.pid} ${start}\n`))) continue
    // Another process may have gone two numbers ahead and removed ours since we looked: the highest number decides.
    if ((await newestNumber(dir, name)) !== newest + 1) {
      await rm(file, { force: true })
      continue
    }
    await removeOlder(dir, name, newest + 1)
    return { release: () => replace(file, RELEASED) }
  }
}

async function newestNumber(dir: string, name: string): Promise<number> {
  const files = await readdir(dir)
  const numbers = files.map((file) => (/^\d+$/.test(suffix(file, name)) ? Number(suffix(file, name)) : 0))
  return Math.max(0, ...numbers)
}

/** Removes locks with lower numbers, and drafts for them whose process died before using them. */
async function removeOlder(dir: string, name: string, newest: number): Promise<void> {
  for (const file of await readdir(dir)) {
    const number = Number.parseInt(suffix(file, name), 10)
    if (number < newest) await rm(join(dir, file), { force: true })
  }
}

const suffix = (file: string, name: string) => (file.startsWith(`${name}.`) ? file.slice(name.length + 1) : '')

async function readOwner(file: string): Promise<{ pid: number; start: string } | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const [, pid, start] = /^(\d+) (.+)\n$/.exec(text) ?? []
  return pid && start ? { pid: Number(pid), start } : undefined
}

/** Creates `file` with its content in one step, so that nobody reads half of it; false when it already exists. */
async function createWhole(file: string, content: string): Promise<boolean> {
  const draft = await writeDraft(file, content)
  try {
    await link(draft, file)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // ENOENT: a faster contender, already past this number, has removed our draft.
    if (code === 'EEXIST' || code === 'ENOENT') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
}

async function replace(file: string, content: string): Promise<void> {
  await rename(await writeDraft(file, content), file)
}

async function writeDraft(file: string, content: string): Promise<string> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, content, { mode: 0o644, flag: 'wx' })
  return draft
}
