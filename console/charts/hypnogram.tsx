import { type Signal, useSignal } from '@preact/signals'
import { holesOf, type Night, type Part, partText, STAGES, stageName } from './sleep.ts'
import { clock, HOUR_MS } from './time.ts'
import { useWidth } from './width.ts'

const GUTTER = 52
const TOP = 8
const BOTTOM = 24

/** Places and sizes of a hypnogram in pixels. */
interface Frame {
  row: number
  block: number
  x(local: number): number
  y(stage: Part['stage']): number
}

/** The stages of a night over its time. Arrow keys walk through them. */
export function Hypnogram({ night }: { night: Night }) {
  const [element, width] = useWidth<HTMLDivElement>()
  const chosen = useSignal<number | undefined>(undefined)
  const parts = night.parts.toSorted((a, b) => a.from - b.from)
  const step = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (event.key === 'Escape') chosen.value = undefined
    if (!by) return
    event.preventDefault()
    const start = chosen.value ?? (by > 0 ? -1 : parts.length)
    chosen.value = Math.min(Math.max(start + by, 0), parts.length - 1)
  }
  const part = chosen.value === undefined ? undefined : parts[chosen.value]
  const said = part ? partText(part) : `From ${clock(night.from)} to ${clock(night.until)}`
  return (
    <div
      ref={element}
      class="hypnogram"
      data-chart="hypnogram"
      data-state={width > 0 ? 'ready' : 'loading'}
      data-points={parts.length}
      data-resolution="raw"
      role="slider"
      tabIndex={0}
      aria-label="Stages of sleep, with the arrow keys"
      aria-valuemin={0}
      aria-valuemax={parts.length}
      aria-valuenow={(chosen.value ?? -1) + 1}
      aria-valuetext={said}
      onKeyDown={step}
    >
      {width > 0 && <Drawing night={night} parts={parts} width={width} chosen={chosen} />}
      <p class="readout">{said}</p>
    </div>
  )
}

interface DrawingProps {
  night: Night
  parts: readonly Part[]
  width: number
  chosen: Signal<number | undefined>
}

function Drawing({ night, parts, width, chosen }: DrawingProps) {
  const row = width < 480 ? 22 : 28
  const area = Math.max(width - GUTTER - 8, 0)
  const frame: Frame = {
    row,
    block: 16,
    x: (local) => GUTTER + ((local - night.from) / (night.until - night.from)) * area,
    y: (stage) => TOP + (STAGES.indexOf(stage as 'awake') + 0.5) * row,
  }
  return (
    <svg width={width} height={TOP + 4 * row + BOTTOM} aria-hidden="true">
      <Grid night={night} frame={frame} width={width} />
      <Connectors parts={parts} frame={frame} />
      {parts.map((one, index) => (
        <Block
          key={`${one.stage} ${one.from}`}
          part={one}
          frame={frame}
          isChosen={chosen.value === index}
          choose={(over) => {
            chosen.value = over ? index : undefined
          }}
        />
      ))}
    </svg>
  )
}

function Grid({ night, frame, width }: { night: Night; frame: Frame; width: number }) {
  const first = Math.ceil(night.from / HOUR_MS) * HOUR_MS
  const all = Array.from(
    { length: Math.max(0, Math.ceil((night.until - first) / HOUR_MS)) },
    (_, n) => first + n * HOUR_MS,
  )
  const every = all.length * 44 > width - GUTTER ? 2 : 1
  const bottom = TOP + 4 * frame.row
  return (
    <>
      <rect
        class="bed"
        x={frame.x(night.from)}
        y={TOP}
        width={frame.x(night.until) - frame.x(night.from)}
        height={bottom - TOP}
      />
      {STAGES.map((stage) => (
        <text key={stage} x={0} y={frame.y(stage) + 4}>
          {stageName(stage)}
        </text>
      ))}
      {all.map((hour, index) => (
        <g key={hour}>
          <line class="hour" x1={frame.x(hour)} x2={frame.x(hour)} y1={TOP} y2={bottom + 4} />
          {index % every === 0 && (
            <text class="tick" x={frame.x(hour)} y={bottom + 18}>
              {clock(hour)}
            </text>
          )}
        </g>
      ))}
      {holesOf(night).map((hole) => (
        <line
          key={hole.from}
          class="hole"
          x1={frame.x(hole.from)}
          x2={frame.x(hole.until)}
          y1={frame.y('light')}
          y2={frame.y('light')}
        >
          <title>{`No data ${clock(hole.from)}–${clock(hole.until)}`}</title>
        </line>
      ))}
    </>
  )
}

const isStage = ({ stage }: Part) => (STAGES as readonly string[]).includes(stage)

function Connectors({ parts, frame }: { parts: readonly Part[]; frame: Frame }) {
  const staged = parts.filter(isStage)
  return (
    <>
      {staged.slice(1).map((part, index) => {
        const before = staged[index]
        if (!before || part.from - before.until > 60_000) return null
        const x = frame.x(part.from)
        return (
          <line key={part.from} class="connector" x1={x} x2={x} y1={frame.y(before.stage)} y2={frame.y(part.stage)} />
        )
      })}
    </>
  )
}

interface BlockProps {
  part: Part
  frame: Frame
  isChosen: boolean
  choose(over: boolean): void
}

function Block({ part, frame, isChosen, choose }: BlockProps) {
  if (part.stage === 'in_bed') return null
  const width = Math.max(2, frame.x(part.until) - frame.x(part.from))
  // Sleep without a stage lies across light and deep.
  const top = isStage(part) ? frame.y(part.stage) - frame.block / 2 : frame.y('light') - frame.block / 2
  const height = isStage(part) ? frame.block : frame.row + frame.block
  return (
    <rect
      class={`stage ${part.stage}${isChosen ? ' chosen' : ''}`}
      x={frame.x(part.from)}
      y={top}
      width={width}
      height={height}
      rx={Math.min(3, width / 2)}
      onPointerEnter={() => choose(true)}
      onPointerLeave={() => choose(false)}
    />
  )
}
