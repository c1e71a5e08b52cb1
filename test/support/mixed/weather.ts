// Faults of the simulator, switched on at random.
import { faultKinds } from '../../../simulator/faults.ts'
import { pick, random, whole } from '../../../simulator/random.ts'
import type { Provider, World } from './world.ts'

/** Every kind of docs/simulator.md; of the statuses those that mean different things. */
export const KINDS: readonly string[] = [
  ...[
    '400',
    '401',
    '403',
    '404',
    '408',
    '409',
    '410',
    '418',
    '422',
    '425',
    '429',
    '451',
    '500',
    '502',
    '503',
    '504',
    '599',
  ],
  ...faultKinds,
]

/** Parts of paths, beside all of them. */
const PATHS = ['/', 'sleep', 'activit', 'workout', 'heart', 'token', 'daily', 'user', 'week', 'profile']

/** Those that strike notices (docs/simulator.md). */
const OF_NOTICES: readonly string[] = ['duplicate', 'shuffle', 'silent']

/** How many are on at a time. */
const AT_ONCE = [4, 9] as const

export interface Weather {
  /** Switches faults on; what is on already stays. */
  rain(world: World, day: number): Promise<string[]>
  /** The kinds that were on so far. */
  readonly seen: ReadonlySet<string>
}

/** Faults of these kinds, seeded: each kind comes before any comes again. */
export function weatherOf(kinds: readonly string[], seed: number): Weather {
  const seen = new Set<string>()
  let left: string[] = []
  return {
    seen,
    async rain({ simulator, members }, day) {
      const next = random(`weather/${seed}/${day}`)
      const providers = [...new Set(members.flatMap((one) => one.providers))]
      const on: string[] = []
      for (let count = Math.min(kinds.length, whole(next, ...AT_ONCE)); count > 0; count -= 1) {
        if (left.length === 0) left = [...kinds]
        const kind = left.splice(Math.floor(next() * left.length), 1)[0] as string
        const fault = { ...chosen(next, kind, providers), ...sizeOf(next, kind) }
        const person = next() < 0.3 ? { person: pick(next, members).person } : {}
        const { status, body } = await simulator.control('POST', 'faults', { ...fault, ...person })
        if (status !== 200) throw new Error(`${kind}: ${JSON.stringify(body)}`)
        seen.add(kind)
        on.push(Object.values({ ...fault, ...person }).join(' '))
      }
      return on
    },
  }
}

function chosen(next: () => number, kind: string, providers: readonly Provider[]) {
  if (kind === 'rpc') return { kind, provider: 'withings' }
  if (kind === 'rotated_lost') return { kind, path: 'token' }
  const provider = next() < 0.15 ? {} : { provider: pick(next, providers) }
  const isOfNotices = kind === 'silent' || (OF_NOTICES.includes(kind) && next() < 0.5)
  const path = isOfNotices ? { path: '/notices/' } : next() < 0.5 ? {} : { path: pick(next, PATHS) }
  return { kind, ...provider, ...path }
}

/** Nothing lasts as long as in life, and no body is larger than is needed. */
function sizeOf(next: () => number, kind: string): Record<string, unknown> {
  const often = next() < 0.5 ? { skip: whole(next, 0, 5), times: whole(next, 1, 20) } : {}
  switch (kind) {
    case 'slow':
      return { ms: 300, ...often }
    case 'big':
      // A few of them: each is made for every request.
      return { times: 2 }
    case 'clock':
      return { seconds: pick(next, [3_600, -3_600, 600]), ...often }
    case 'early':
      return { seconds: pick(next, [60, 3_600]), ...often }
    case 'rpc':
      return { code: pick(next, [601, 401, 100, 293, 2554, 503]), ...often }
    case '429':
      return { seconds: whole(next, 1, 60), ...often }
    default:
      return often
  }
}
