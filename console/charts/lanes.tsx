import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { clock } from './time.ts'

/** A part of the range that is marked across all lanes. */
export interface Mark {
  kind: 'sleep' | 'workout'
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
  /** Local times between the labels of the axis. */
  tickMs: number
  points: number
  resolution: string
}

const STEP_MS = 300_000

/** Rows over one axis of local time, with one crosshair: by pointer, finger or arrow keys. */
export function Lanes({ name, lanes, marks, from, until, tickMs, points, resolution }: LanesProps) {
  const cursor = useSignal<number | undefined>(undefined)
  const share = (local: number) => `${((Math.min(Math.max(local, from), until) - from) / (until - from)) * 100}%`
  const point = (event: PointerEvent) => {
    const plot = (event.currentTarget as HTMLElement).querySelector('.plot')?.getBoundingClientRect()
    if (!plot || plot.width === 0) return
    const part = (event.clientX - plot.left) / plot.width
    cursor.value = part < 0 || part > 1 ? undefined : from + part * (until - from)
  }
  const key = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -STEP_MS, ArrowRight: STEP_MS }[event.key]
    if (event.key === 'Escape') cursor.value = undefined
    if (!step) return
    event.preventDefault()
    const start = cursor.value ?? (step > 0 ? from - STEP_MS : until)
    cursor.value = Math.min(Math.max(start + step, from), until - STEP_MS)
  }
  const at = cursor.value
  const said = at === undefined ? 'the whole range' : clock(at)
  const values = lanes.map((lane) => `${lane.name} ${lane.figure(at)}`).join(', ')
  return (
    <div
      class="lanes"
      data-chart={name}
      data-state="ready"
      data-points={points}
      data-resolution={resolution}
      role="slider"
      tabIndex={0}
      aria-label={`${name}: time of day, with the arrow keys`}
      aria-valuemin={0}
      aria-valuemax={Math.round((until - from) / 60_000)}
      aria-valuenow={Math.round(((at ?? from) - from) / 60_000)}
      aria-valuetext={`${said}: ${values}`}
      onPointerMove={point}
      onPointerDown={point}
      onPointerLeave={() => {
        cursor.value = undefined
      }}
      onKeyDown={key}
    >
      {lanes.map((lane, index) => (
        <Row key={lane.name} lane={lane} marks={marks} share={share} at={at} first={index === 0} />
      ))}
      <Axis from={from} until={until} tickMs={tickMs} share={share} at={at} />
    </div>
  )
}

interface RowProps {
  lane: Lane
  marks: readonly Mark[]
  share(local: number): string
  at: number | undefined
  first: boolean
}

function Row({ lane, marks, share, at, first }: RowProps) {
  return (
    <div class="lane">
      <div class="name">
        {lane.name} <span class="quiet">{lane.unit}</span>
      </div>
      <div class={`plot ${lane.kind}`} style={{ height: `${lane.height}px` }}>
        {marks.map(({ kind, from, until, name }) => (
          <div
            key={`${kind} ${from}`}
            class={`mark ${kind}`}
            style={{ left: share(from), width: `calc(${share(until)} - ${share(from)})` }}
          >
            {first && name && <span dir="auto">{name}</span>}
          </div>
        ))}
        {lane.ticks?.map(({ at, text }) => (
          <div key={text} class="level" style={{ bottom: `${at * 100}%` }}>
            {text}
          </div>
        ))}
        {lane.plot}
        {at !== undefined && <div class="cross" style={{ left: share(at) }} />}
      </div>
      <div class="figure">{lane.figure(at)}</div>
    </div>
  )
}

function Axis({
  from,
  until,
  tickMs,
  share,
  at,
}: Pick<LanesProps, 'from' | 'until' | 'tickMs'> & Omit<RowProps, 'lane' | 'marks' | 'first'>) {
  const first = Math.ceil(from / tickMs) * tickMs
  const ticks = Array.from({ length: Math.floor((until - first) / tickMs) + 1 }, (_, index) => first + index * tickMs)
  const text = (local: number) => (local === until && clock(local) === '00:00' ? '24:00' : clock(local))
  return (
    <div class="lane axis" aria-hidden="true">
      <div class="name" />
      <div class="plot">
        {ticks.map((local) => (
          <span
            key={local}
            class={`tick${local === from ? ' first' : local === until ? ' last' : ''}`}
            style={{ left: share(local) }}
          >
            {text(local)}
          </span>
        ))}
      </div>
      <div class="figure">{at === undefined ? '' : clock(at)}</div>
    </div>
  )
}
