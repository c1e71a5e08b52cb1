import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Clock ticks of /proc/<pid>/stat, which Linux shows in hundredths of a second on every architecture. */
const TICKS_PER_SECOND = 100
const SAMPLE_MS = 50

interface Stat {
  parent: number
  /** User and system time of the process itself, and of the children it has waited for. */
  ownSeconds: number
  endedSeconds: number
}

/** Fields 4 and 14 to 17 (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html). */
function stat(pid: number | string): Stat {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name, in parentheses, may itself contain spaces and parentheses: count fields after the last one.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const seconds = (field: number) => ((fields[field - 3] ?? 0) + (fields[field - 2] ?? 0)) / TICKS_PER_SECOND
  return { parent: fields[1] ?? 0, ownSeconds: seconds(14), endedSeconds: seconds(16) }
}

/** CPU seconds of a running thread or single-threaded process in nanoseconds' precision, 0 where the kernel has none. */
function exactSeconds(path: string): number {
  try {
    return Number(readFileSync(`/proc/${path}/schedstat`, 'utf8').split(' ')[0]) / 1e9
  } catch {
    return 0
  }
}

/** CPU seconds a process has used so far, all of its threads together; in hundredths once a thread of it has ended. */
export function cpuSeconds(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => exactSeconds(`${pid}/task/${thread}`))
  return Math.max(
    threads.reduce((sum, one) => sum + one, 0),
    stat(pid).ownSeconds,
  )
}

/** CPU seconds a process' main thread has used so far: in Node, the event loop. */
export const mainThreadCpuSeconds = (pid: number): number =>
  Math.max(exactSeconds(`${pid}/task/${pid}`), stat(`${pid}/task/${pid}`).ownSeconds)

/** CPU seconds of a process and all its children so far, ended ones included: a PostgreSQL server. */
export function familyCpuSeconds(pid: number): number {
  const { ownSeconds, endedSeconds } = stat(pid)
  return childrenOf(pid).reduce(
    (sum, child) => sum + Math.max(exactSeconds(child.pid), child.ownSeconds),
    ownSeconds + endedSeconds,
  )
}

/** How many processes a process has started that still run, without what they have started. */
export const childCount = (pid: number): number => childrenOf(pid).length

function childrenOf(pid: number): (Stat & { pid: string })[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const child = stat(name)
      return child.parent === pid ? [{ ...child, pid: name }] : []
    } catch {
      // It ended while we were reading.
      return []
    }
  })
}

/** The process that started `pid`. */
export const parentOf = (pid: number): number => stat(pid).parent

/** Resident memory of a process in megabytes (VmRSS). */
export function residentMb(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return (Number(kib) * 1024) / 1e6
}

/** Samples a process from outside, every 50 ms; the returned function stops and returns the peak in megabytes. */
export function watchMemory(pid: number): () => number {
  let peak = residentMb(pid)
  const timer = setInterval(() => {
    try {
      peak = Math.max(peak, residentMb(pid))
    } catch {
      // The process is gone; whoever waits for it reports that.
      clearInterval(timer)
    }
  }, SAMPLE_MS)
  return () => {
    clearInterval(timer)
    return peak
  }
}

/** A script of this folder in a separate process, which answers each message with one message. */
export interface Helper {
  pid: number
  ask<Answer>(message: unknown): Promise<Answer>
  stop(): Promise<void>
}

/** Starts a script of this folder; it ends with this process at the latest. */
export async function startHelper(script: string, env: Record<string, string> = {}): Promise<Helper> {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), {
    execArgv: ['--import', './server/typescript.mjs'],
    // Statements may contain numbers that JSON cannot express.
    serialization: 'advanced',
    env: { PATH: process.env.PATH, ...env },
  })
  await once(child, 'spawn')
  return {
    pid: child.pid as number,
    ask: (message) => ask(child, message),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill()
      await once(child, 'exit')
    },
  }
}

function ask<Answer>(child: ChildProcess, message: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error(`a helper process of the benchmark ended: ${child.spawnfile}`))
    child.once('exit', ended)
    child.once('message', (answer) => {
      child.off('exit', ended)
      resolve(answer as Answer)
    })
    child.send(message as object)
  })
}
