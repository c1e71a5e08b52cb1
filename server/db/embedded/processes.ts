import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const linux = process.platform === 'linux'

/** One process of the machine: its owner and its command line, arguments joined by spaces. */
export interface SystemProcess {
  pid: number
  uid: number
  command: string
}

/**
 * When process `pid` was started, as an opaque text: another process that reuses the number has another text. Undefined
 * when it does not run; a zombie does not run. Linux: fields 3 and 22 of /proc/pid/stat
 * (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html); elsewhere `ps`.
 */
export async function startTime(pid: number): Promise<string | undefined> {
  if (!linux) {
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
    const args = ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)]
    const { stdout } = await run('ps', args, { env }).catch(() => ({ stdout: '' }))
    const [state = 'Z', ...started] = stdout.trim().split(/\s+/)
    return state.startsWith('Z') || started.length === 0 ? undefined : started.join(' ')
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (!stat) return undefined
  // The name, in parentheses, may itself contain spaces and parentheses: count fields after the last one.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields[0] === 'Z' || fields[0] === 'X') return undefined
  // Start times count from boot, so the boot id is needed to recognise a lock that survived a reboot.
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  return `${fields[19]} ${boot.trim()}`.trim()
}

/** Every process of this machine whose command line satisfies `wanted`; processes that end meanwhile are left out. */
export async function findProcesses(wanted: (command: string) => boolean): Promise<SystemProcess[]> {
  if (!linux) {
    const { stdout } = await run('ps', ['-axww', '-o', 'pid=', '-o', 'uid=', '-o', 'command='], {
      maxBuffer: 64 * 2 ** 20,
    })
    return stdout.split('\n').flatMap((line) => {
      const [, pid, uid, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []
      return wanted(command) ? { pid: Number(pid), uid: Number(uid), command } : []
    })
  }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map((pid) => linuxProcess(pid, wanted)))
  return found.filter((process) => process !== undefined)
}

async function linuxProcess(pid: string, wanted: (command: string) => boolean): Promise<SystemProcess | undefined> {
  try {
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim()
    if (!command || !wanted(command)) return undefined
    // The owner of the /proc entry is root for processes that may not be dumped: the status file names the real one.
    const uid = /^Uid:\s+\d+\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))
    return { pid: Number(pid), uid: Number(uid?.[1]), command }
  } catch {
    return undefined
  }
}

/** Sends `signal` to a process that may have ended; throws the errors of `process.kill`, except that it is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Waits until `condition` is true, asking every `everyMs`; false when it is not within `timeoutMs`. */
export async function waitUntil(condition: () => Promise<boolean>, timeoutMs: number, everyMs = 25): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadline) return false
    await delay(everyMs)
  }
  return true
}
