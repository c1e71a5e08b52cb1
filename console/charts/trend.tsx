import { type Daily, weekMedians } from './days.ts'
import { middlesOf, type Night, STAGES } from './sleep.ts'
import { DAY_MS, MINUTE_MS } from './time.ts'

type Scale = (value: number) => number

/** Days as dots, each in the middle of its column. */
const dots = (daily: Daily, y: Scale): string =>
  daily.map((value, index) => (value === null ? '' : `M${index + 0.5} ${y(value)}h0`)).join('')

/** Days as a line, broken where one is missing. */
const line = (daily: Daily, y: Scale): string =>
  daily
    .map((value, index) => (value === null ? '' : `${daily[index - 1] == null ? 'M' : 'L'}${index + 0.5} ${y(value)}`))
    .join('')

interface TrendProps {
  values: Daily
  means: Daily
  usual: readonly ([number, number] | null)[]
  /** The means of the period before, day by day. */
  before: Daily
  low: number
  high: number
}

/** The values of days as dots, over what was usual, with the line of their means. */
export function Trend({ values, means, usual, before, low, high }: TrendProps) {
  const y = (value: number) => +(100 - ((Math.min(Math.max(value, low), high) - low) / (high - low)) * 100).toFixed(2)
  return (
    <svg
      class={`trend${values.length < 60 ? ' few' : ''}`}
      viewBox={`0 0 ${values.length} 100`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path
        class="usual"
        d={usual.map((range, index) => (range ? `M${index} ${y(range[1])}h1V${y(range[0])}h-1z` : '')).join('')}
      />
      <path class="dots" d={dots(values, y)} />
      <path class="before" d={line(before, y)} />
      <path class="mean" d={line(means, y)} />
    </svg>
  )
}

interface NightsProps {
  nights: readonly Night[]
  /** Midnight of the first day. */
  from: number
  days: number
}

/**
 * A column for each night, from noon down to noon, in the colours of its stages; a dot in the middle of each, and the line
 * of their medians.
 */
export function Nights({ nights, from, days }: NightsProps) {
  const parts = nights.flatMap((night) => night.parts)
  const noon = from - DAY_MS / 2
  const path = (stage: string) =>
    parts
      .filter((part) => part.stage === stage)
      .map((part) => {
        const column = Math.floor((part.from - noon) / DAY_MS)
        const top = (part.from - noon - column * DAY_MS) / MINUTE_MS
        const height = (part.until - part.from) / MINUTE_MS
        // What goes on after noon is in the next column.
        const rest = Math.max(0, top + height - 1440)
        return `M${column} ${top}h1v${height - rest}h-1z${rest > 0 ? `M${column + 1} 0h1v${rest}h-1z` : ''}`
      })
      .join('')
  const middles = middlesOf(nights, from, days)
  const medians = line(weekMedians(middles), (minute) => minute)
  return (
    <svg class="nights" viewBox={`0 0 ${days} 1440`} preserveAspectRatio="none" aria-hidden="true">
      {[...STAGES, 'sleeping'].map((stage) => (
        <path key={stage} class={`stage ${stage}`} d={path(stage)} />
      ))}
      <path class="around" d={medians} />
      <path class="middle" d={medians} />
      <path class="middles" d={dots(middles, (minute) => minute)} />
    </svg>
  )
}
