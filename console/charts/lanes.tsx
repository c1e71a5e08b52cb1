import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { clock, type Tick } from './time.ts'

/** A part of the range that is marked across all lanes. */
export interface Mark {
  kind: 'sleep' | 'workout' | 'chosen'
  from: number
  until: number
  name?: string
}

/** A row of the chart. */
export interface Lane {
  name: string
  unit: string
  /** Sets the colour. */
  kind: string
  height: number
  /** What is drawn. */
  plot: ComponentChildren
  /** What each line means, in place of the name, if there are several. */
  legend?: ComponentChildren
  /** The numbers at the side: at a local time, or of the whole range. */
  figure(local: number | undefined): string
  ticks?: { at: number; text: string }[]
}

interface LanesProps {
  name: string
  lanes: readonly Lane[]
  marks: readonly Mark[]
  from: number
  until: number
  /** The labels of the axis. */
  ticks: readonly Tick[]
  points: number
  resolution: string
  /** What an arrow key moves; five minutes. */
  stepMs?: number
  /** The words for a place of the crosshair; its time of day. */
  say?(local: number): string
  /** What a click, and Enter, do. */
  pick?(local: number): void
  /** The place of the crosshair, for who needs it outside. */
  cursor?: Signal<number | undefined>
  state?: 'loading' | 'ready'
}

interface CursorProps extends Pick<LanesProps, 'from' | 'until'> {
  stepMs: number
  pick: LanesProps['pick'] | undefined
  cursor: Signal<number | undefined> | undefined
}

/** A place on an axis, moved by pointer, finger or arrow keys. */
function useCursor({ from, until, stepMs, pick, cursor: given }: CursorProps) {
  const own = useSignal<number | undefined>(undefined)
  const cursor = given ?? own
  const onClick = () => cursor.value !== undefined && pick?.(cursor.value)
  const onPointerMove = (event: PointerEvent) => {
    const plot = (event.currentTarget as HTMLElement).querySelector('.plot')?.getBoundingClientRect()
    if (!plot || plot.width === 0) return
    const part = (event.clientX - plot.left) / plot.width
    cursor.value = part < 0 || part > 1 ? undefined : from + part * (until - from)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -stepMs, ArrowRight: stepMs }[event.key]
    if (event.key === 'Escape') cursor.value = undefined
    if (event.key === 'Enter') onClick()
    if (!step || event.shiftKey) return
    event.preventDefault()
    const start = cursor.value ?? (step > 0 ? from - stepMs : until)
    cursor.value = Math.min(Math.max(start + step, from), until - stepMs)
  }
  const onPointerLeave = () => {
    cursor.value = undefined
  }
  return { cursor, onClick, onPointerMove, onPointerDown: onPointerMove, onPointerLeave, onKeyDown }
}

/** Rows over one axis of local time, with one crosshair: by pointer, finger or arrow keys. */
export function Lanes({ name, lanes, marks, from, until, ticks, points, resolution, ...more }: LanesProps) {
  const { stepMs = 300_000, say = clock, pick, state = 'ready' } = more
  const share = (local: number) => `${((Math.min(Math.max(local, from), until) - from) / (until - from)) * 100}%`
  const { cursor, ...handlers } = useCursor({ from, until, stepMs, pick, cursor: more.cursor })
  const at = cursor.value
  const said = at === undefined ? 'the whole range' : say(at)
  const values = lanes.map((lane) => `${lane.name} ${lane.figure(at)}`).join(', ')
  return (
    <div
      class={`lanes${lanes.some((lane) => lane.ticks) ? '' : ' bare'}`}
      data-chart={name}
      data-state={state}
      data-points={points}
      data-resolution={resolution}
      role="slider"
      tabIndex={0}
      aria-label={`${name}: read it with the arrow keys${pick ? ', open with Enter' : ''}`}
      aria-valuemin={0}
      aria-valuemax={Math.round((until - from) / 60_000)}
      aria-valuenow={Math.round(((at ?? from) - from) / 60_000)}
      aria-valuetext={`${said}: ${values}`}
      {...handlers}
    >
      {lanes.map((lane, index) => (
        <Row key={`${lane.name} ${lane.unit}`} lane={lane} marks={marks} share={share} at={at} first={index === 0} />
      ))}
      <Axis from={from} until={until} ticks={ticks} share={share} said={at === undefined ? '' : said} />
    </div>
  )
}

/** From this part of a row on, in percent, a name stands before its mark. */
const LATE = 65

interface RowProps {
  lane: Lane
  marks: readonly Mark[]
  share(local: number): string
  at: number | undefined
  first: boolean
}

/** Values that are nearly the same may have the same words. */
const isNew = ({ text }: { text: string }, index: number, all: readonly { text: string }[]) =>
  text !== all[index - 1]?.text

function Row({ lane, marks, share, at, first }: RowProps) {
  return (
    <div class="lane">
      <div class="name">
        {lane.legend || lane.name} <span class="quiet">{lane.unit}</span>
      </div>
      <div class={`plot ${lane.kind}`} style={{ height: `${lane.height}px` }}>
        {marks.map(({ kind, from, until, name }) => (
          <div
            key={`${kind} ${from}`}
            class={`mark ${kind}`}
            style={{ left: share(from), width: `calc(${share(until)} - ${share(from)})` }}
          >
            {first && name && (
              <span dir="auto" class={Number.parseFloat(share(from)) > LATE ? 'late' : undefined}>
                {name}
              </span>
            )}
          </div>
        ))}
        {lane.ticks?.filter(isNew).map(({ at, text }) => (
          <div key={text} class="level" style={{ bottom: `${at * 100}%` }}>
            <span>{text}</span>
          </div>
        ))}
        {lane.plot}
        {at !== undefined && <div class="cross" style={{ left: share(at) }} />}
      </div>
      <div class="figure">{lane.figure(at)}</div>
    </div>
  )
}

interface AxisProps extends Pick<LanesProps, 'from' | 'until' | 'ticks'>, Pick<RowProps, 'share'> {
  said: string
}

function Axis({ from, until, ticks, share, said }: AxisProps) {
  return (
    <div class="lane axis" aria-hidden="true">
      <div class="name" />
      <div class="plot">
        {ticks.map(({ at, text }) => (
          <span
            key={at}
            class={`tick${at === from ? ' first' : at === until ? ' last' : ''}`}
            style={{ left: share(at) }}
          >
            {text}
          </span>
        ))}
      </div>
      <div class="figure">{said}</div>
    </div>
  )
}
