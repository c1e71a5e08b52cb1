import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { monthOf } from './days.ts'
import { DAY_MS, dateOf, longDate, midnight } from './time.ts'

/** What a day looks like, in names of marks, and what it is in words. */
export interface DayCell {
  kind: string
  text: string
}

interface CalendarProps {
  name: string
  first: string
  last: string
  cellOf(date: string): DayCell
  /** What a click, and Enter, do. */
  pick(date: string): void
  chosen?: string | undefined
}

/** The first day of a week where the reader lives: 1 is Monday. */
function firstWeekday(): number {
  const locale = new Intl.Locale(navigator.language) as Intl.Locale & { getWeekInfo?(): { firstDay: number } }
  return locale.getWeekInfo?.().firstDay ?? 1
}

/** Days as cells, weeks as columns. Arrow keys move by day and week. */
export function Calendar({ name, first, last, cellOf, pick, chosen }: CalendarProps) {
  const cursor = useSignal<string | undefined>(undefined)
  const box = useRef<HTMLDivElement>(null)
  // The newest weeks are what one looks for first, where not all fit.
  useEffect(() => box.current?.scrollTo(box.current.scrollWidth, 0), [first])
  const lead = (new Date(midnight(first)).getUTCDay() - firstWeekday() + 7) % 7
  const dates = Array.from({ length: (midnight(last) - midnight(first)) / DAY_MS + 1 }, (_, index) =>
    dateOf(midnight(first) + index * DAY_MS),
  )
  const key = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1 }[event.key]
    if (event.key === 'Enter' && cursor.value) pick(cursor.value)
    if (!by) return
    event.preventDefault()
    cursor.value = cursor.value ? (dates[dates.indexOf(cursor.value) + by] ?? cursor.value) : (chosen ?? last)
  }
  const at = cursor.value
  const said = at ? `${longDate(at)}: ${cellOf(at).text}` : `${longDate(first)} to ${longDate(last)}`
  return (
    <>
      <div
        ref={box}
        class="calendar"
        data-chart={name}
        data-state="ready"
        data-points={dates.length}
        role="slider"
        tabIndex={0}
        aria-label={`${name}: days with the arrow keys, open with Enter`}
        aria-valuemin={0}
        aria-valuemax={dates.length}
        aria-valuenow={at ? dates.indexOf(at) + 1 : 0}
        aria-valuetext={said}
        onKeyDown={key}
      >
        <Weeks
          dates={dates}
          lead={lead}
          kindOf={(date) => cellOf(date).kind}
          chosen={at ?? chosen}
          cursor={cursor}
          pick={pick}
        />
      </div>
      <p class="readout">{said}</p>
    </>
  )
}

interface WeeksProps {
  dates: readonly string[]
  /** Days of the first week that come before the first date. */
  lead: number
  kindOf(date: string): string
  chosen: string | undefined
  cursor: Signal<string | undefined>
  pick(date: string): void
}

function Weeks({ dates, lead, kindOf, chosen, cursor, pick }: WeeksProps) {
  const cell = dates.length > 62 ? 14 : 28
  const point = (event: PointerEvent) => {
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect()
    const row = Math.floor((event.clientY - top) / cell)
    cursor.value = row < 7 ? dates[Math.floor((event.clientX - left) / cell) * 7 + row - lead] : undefined
  }
  return (
    <svg
      width={Math.ceil((lead + dates.length) / 7) * cell}
      height={7 * cell + 16}
      aria-hidden="true"
      onPointerMove={point}
      onPointerDown={point}
      onClick={() => cursor.value && pick(cursor.value)}
    >
      {dates.map((date, index) => {
        const [x, y] = [Math.floor((lead + index) / 7) * cell, ((lead + index) % 7) * cell]
        return <Cell key={date} {...{ x, y, cell, date }} kind={kindOf(date)} isChosen={date === chosen} />
      })}
    </svg>
  )
}

interface CellProps {
  x: number
  y: number
  /** Its size, with the distance to the next one. */
  cell: number
  date: string
  kind: string
  isChosen: boolean
}

function Cell({ x, y, cell, date, kind, isChosen }: CellProps) {
  const size = cell - 3
  const has = (part: string) => kind.split(' ').includes(part)
  return (
    <>
      <rect
        class={`cell ${kind}${isChosen ? ' chosen' : ''}`}
        x={x + 1.5}
        y={y + 1.5}
        width={size}
        height={size}
        rx={2}
      />
      {has('touched') && <circle cx={x + cell / 2} cy={y + cell / 2} r={2} />}
      {has('some') && <path class="half" d={`M${x + 2} ${y + 12}v-10l10 10z`} />}
      {has('rejected') && <path class="corner" d={`M${x + 7} ${y + 1}h6v6z`} />}
      {has('archived') && <path class="hatch" d={`M${x + 2} ${y + 7}l5-5M${x + 3} ${y + 12}l9-9`} />}
      {date.endsWith('-01') && (
        <text x={x + (y > 0 ? cell : 0)} y={7 * cell + 12}>
          {monthOf(midnight(date))}
        </text>
      )}
    </>
  )
}
