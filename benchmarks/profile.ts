import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const LINES = 15
/** A thread that was hardly busy, such as the module loader's, shows nothing. */
const BUSY_SHARE = 0.05
/** Not JavaScript, or waiting: `(program)` is native code and the kernel, piscina's threads wait in Atomics.wait. */
const IDLE = /^(\(idle\)|\(program\)|\(root\)|atomicsWaitLoop .*)$/

/** A V8 CPU profile (https://chromedevtools.github.io/devtools-protocol/tot/Profiler/#type-Profile). */
interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

/** For each thread whose profile is in a directory: the functions its time went to (self time), as lines. */
export async function profileLines(directory: string): Promise<string[]> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.cpuprofile')).sort()
  const parts = await Promise.all(files.map((name) => threadLines(directory, name)))
  return [`profiles in ${directory}`, ...parts.flat()]
}

async function threadLines(directory: string, file: string): Promise<string[]> {
  const profile = JSON.parse(await readFile(join(directory, file), 'utf8')) as Profile
  const places = new Map(profile.nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]))
  const self = new Map<string, number>()
  for (const [index, node] of profile.samples.entries()) {
    const place = places.get(node) ?? '(unknown)'
    self.set(place, (self.get(place) ?? 0) + (profile.timeDeltas[index] ?? 0))
  }
  const total = [...self.values()].reduce((sum, micros) => sum + micros, 0)
  const busyPlaces = [...self].filter(([place]) => !IDLE.test(place)).sort((a, b) => b[1] - a[1])
  const busy = busyPlaces.reduce((sum, [, micros]) => sum + micros, 0)
  if (busy < total * BUSY_SHARE) return []
  // CPU.<date>.<time>.<pid>.<thread>.<number>.cpuprofile
  const thread = file.split('.')[4] === '0' ? 'main thread' : `worker thread ${file.split('.')[4]}`
  return [
    `  ${thread}: busy ${(busy / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} s in JavaScript; self time as a share of that:`,
    ...busyPlaces
      .slice(0, LINES)
      .map(([place, micros]) => `    ${((micros / busy) * 100).toFixed(1).padStart(5)} %  ${place}`),
  ]
}

function placeOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const file = url.replace(/^.*\/node_modules\//, '').replace(/^file:\/\/.*\/(server|workers)\//, '$1/')
  const name = functionName || '(anonymous)'
  return file ? `${name} ${file}:${lineNumber + 1}` : name
}
