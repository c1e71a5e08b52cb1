import { uuidOf } from '../random.ts'
import { type Person, sumsOf } from '../truth/person.ts'
import { knownUntil } from '../truth/personas.ts'
import { DAY_MS, MINUTE_MS } from '../zones.ts'
import { isNew, type Span } from './samples.ts'

interface Value {
  readonly TimeISO8601: string
  readonly Value: number | string | null
}

/** Sums of days of 24 hours from the start of a span on, whatever the zone: joules and steps. */
export function statistics(person: Person, span: Span, nowMs: number) {
  const days: number[] = []
  for (let ms = span.fromMs; ms <= span.toMs; ms += DAY_MS) days.push(ms)
  // Older watches add the current day, whatever was asked for.
  const today = span.fromMs + Math.floor((nowMs - span.fromMs) / DAY_MS) * DAY_MS
  if (!isNew(person) && !days.includes(today)) days.push(today)
  const untilMs = Math.floor(knownUntil(person, nowMs) / MINUTE_MS) * MINUTE_MS
  const sums = days.map((ms) => {
    const first = Math.ceil(ms / MINUTE_MS) * MINUTE_MS
    const last = Math.min(untilMs, first + DAY_MS)
    return { ms, sum: last > first ? sumsOf(person, first, last) : null }
  })
  const of = (Name: string, value: (sum: NonNullable<(typeof sums)[number]['sum']>) => number) => ({
    ...{ Name, Aggregation: 'sum' },
    Sources: sourcesOf(
      person,
      sums.map(({ ms, sum }) => ({ ms, value: sum && value(sum) })),
    ),
  })
  return [
    of('energyconsumption', ({ activeKcal }) => Math.round(activeKcal * 4184)),
    of('stepcount', ({ steps }) => steps),
  ]
}

/** Some people have a second watch that knows less; older ones write numbers as text, and a day twice. */
function sourcesOf(person: Person, sums: readonly { ms: number; value: number | null }[]) {
  const time = (ms: number) => new Date(ms).toISOString().slice(0, -1)
  const samples = sums.map(({ ms, value }): Value => {
    return { TimeISO8601: time(ms), Value: isNew(person) || value === null ? value : String(value) }
  })
  const [first] = samples
  const twice = !isNew(person) && first ? [{ ...first, Value: null }] : []
  const name = (watch: number) => `suunto-247-${uuidOf(`suunto/watch/${watch}/${person.seed}`)}`
  const half = sums.map(({ ms, value }): Value => {
    return { TimeISO8601: time(ms), Value: value === null ? null : Math.floor(value / 2) }
  })
  return [
    { Name: name(1), Samples: [...twice, ...samples] },
    ...(person.strap === 3 ? [{ Name: name(2), Samples: half }] : []),
  ]
}
