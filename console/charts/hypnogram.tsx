import { type Signal, useSignal } from '@preact/signals'
import { asleepMinutes, holesOf, isStaged, type Night, type Part, partText, STAGES, stageName } from './sleep.ts'
import { HOUR_MS, span } from './time.ts'
import { useWidth } from './width.ts'

/** As wide as the labels beside the lanes below it, which have the same axis. */
const GUTTER = 42
const TOP = 8
const BOTTOM = 24

/** Places and sizes of a hypnogram in pixels. */
interface Frame {
  /** What has a row, from the top. */
  rows: readonly Part['stage'][]
  row: number
  block: number
  x(local: number): number
  y(stage: Part['stage']): number
}

interface HypnogramProps {
  night: Night
  /** The ends of its axis. */
  from: number
  until: number
  /** What clocks said at a time of the night. */
  say(local: number): string
}

/** The stages of a night over its time. Arrow keys walk through them. */
export function Hypnogram({ night, say, ...axis }: HypnogramProps) {
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
  const said = part
    ? partText(part, say)
    : `${span(Math.floor(asleepMinutes(night)))} asleep, ${say(night.from)} to ${say(night.until)}`
  return (
    <div
      class="lane hypnogram"
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
      <div class="name">Stages</div>
      <div class="drawn" ref={element}>
        {width > 0 && <Drawing {...{ night, parts, width, chosen, say, ...axis }} />}
      </div>
      <div class="figure">{said}</div>
    </div>
  )
}

interface DrawingProps extends HypnogramProps {
  parts: readonly Part[]
  width: number
  chosen: Signal<number | undefined>
}

function Drawing({ night, parts, width, chosen, ...axis }: DrawingProps) {
  const row = width < 480 ? 22 : 28
  const area = Math.max(width - GUTTER, 0)
  const rows = isStaged(parts) ? STAGES : (['awake', 'sleeping'] as const)
  const frame: Frame = {
    rows,
    row,
    block: 16,
    x: (local) => GUTTER + ((local - axis.from) / (axis.until - axis.from)) * area,
    y: (stage) => TOP + (rows.indexOf(stage as 'awake') + 0.5) * row,
  }
  return (
    <svg width={width} height={TOP + rows.length * row + BOTTOM} aria-hidden="true">
      <Grid night={night} frame={frame} width={width} {...axis} />
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

interface GridProps extends HypnogramProps {
  frame: Frame
  width: number
}

function Grid({ night, frame, width, from, until, say }: GridProps) {
  const first = Math.ceil(from / HOUR_MS) * HOUR_MS
  const all = Array.from({ length: Math.max(0, Math.ceil((until - first) / HOUR_MS)) }, (_, n) => first + n * HOUR_MS)
  const every = all.length * 44 > width - GUTTER ? 2 : 1
  const bottom = TOP + frame.rows.length * frame.row
  // Without stages a hole is one of sleep.
  const line = frame.y(frame.rows === STAGES ? 'light' : 'sleeping')
  return (
    <>
      <rect
        class="bed"
        x={frame.x(night.from)}
        y={TOP}
        width={frame.x(night.until) - frame.x(night.from)}
        height={bottom - TOP}
      />
      {frame.rows.map((stage) => (
        <text key={stage} x={0} y={frame.y(stage) + 4}>
          {stage === 'sleeping' ? 'Asleep' : stageName(stage)}
        </text>
      ))}
      {all.map((hour, index) => (
        <g key={hour}>
          <line class="hour" x1={frame.x(hour)} x2={frame.x(hour)} y1={TOP} y2={bottom + 4} />
          {index % every === 0 && (
            <text class="tick" x={frame.x(hour)} y={bottom + 18}>
              {say(hour)}
            </text>
          )}
        </g>
      ))}
      {holesOf(night).map((hole) => (
        <line key={hole.from} class="hole" x1={frame.x(hole.from)} x2={frame.x(hole.until)} y1={line} y2={line}>
          <title>{`No data ${say(hole.from)}–${say(hole.until)}`}</title>
        </line>
      ))}
    </>
  )
}

function Connectors({ parts, frame }: { parts: readonly Part[]; frame: Frame }) {
  const staged = parts.filter(({ stage }) => frame.rows.includes(stage))
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
  // In a night with stages, sleep without one lies across light and deep.
  const hasRow = frame.rows.includes(part.stage)
  const top = frame.y(hasRow ? part.stage : 'light') - frame.block / 2
  const height = hasRow ? frame.block : frame.row + frame.block
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
