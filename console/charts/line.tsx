import { useEffect, useRef } from 'preact/hooks'
import { extremesOf, linesOf, type Point, runsOf } from './samples.ts'

interface LineProps {
  points: readonly Point[]
  /** Local epoch ms. */
  from: number
  until: number
  low: number
  high: number
  /** Sets the colour, where it is not that of the lane. */
  kind?: string
  dash?: number[]
  /** Bars instead of a line, for values that add up. */
  isBars?: boolean
  /** Without a band: its samples are far below a sum of them. */
  isBare?: boolean
}

/**
 * A line through points over a range of local times, in the text colour of the element around it, before the band of their
 * extremes; without axes.
 */
export function Line({ kind = '', ...drawn }: LineProps) {
  const element = useRef<HTMLCanvasElement>(null)
  const { points, from, until, low, high } = drawn
  useEffect(() => {
    const canvas = element.current
    if (!canvas) return
    const draw = () => paint(canvas, drawn)
    const resized = new ResizeObserver(draw)
    resized.observe(canvas)
    const theme = matchMedia('(prefers-color-scheme: dark)')
    theme.addEventListener('change', draw)
    draw()
    return () => {
      resized.disconnect()
      theme.removeEventListener('change', draw)
    }
  }, [points, from, until, low, high])
  return <canvas ref={element} class={`line ${kind}`} />
}

const WIDTH = 1.5
const DOT = 1.5
/** How much of its colour a band has. */
const BAND = 0.18
/** Of the distance between two bars, what one takes. */
const BAR = 0.9

function paint(canvas: HTMLCanvasElement, drawn: LineProps): void {
  const { points, from, until, low, high, dash = [], isBars, isBare } = drawn
  const { clientWidth: width, clientHeight: height } = canvas
  const context = canvas.getContext('2d')
  // Nothing can be drawn at width 0.
  if (!context || width === 0) return
  Object.assign(canvas, { width: width * devicePixelRatio, height: height * devicePixelRatio })
  context.scale(devicePixelRatio, devicePixelRatio)
  const { color } = getComputedStyle(canvas)
  Object.assign(context, { strokeStyle: color, fillStyle: color, lineWidth: WIDTH, lineJoin: 'round' })
  context.setLineDash(dash)
  const [times, ...lines] = linesOf(points)
  const xOf = (time: number) => ((time - from) / (until - from)) * width
  const x = times.map(xOf)
  const y = (value: number) => (1 - (value - low) / (high - low)) * height
  if (!isBars && !isBare) bands(context, points, xOf, y)
  for (const values of lines) {
    if (isBars) bars(context, x, values, y)
    else line(context, x, values, y)
  }
}

type Scale = (value: number) => number

/** From the lowest to the highest sample of each bucket. */
function bands(context: CanvasRenderingContext2D, points: readonly Point[], x: Scale, y: Scale): void {
  context.globalAlpha = BAND
  for (const run of runsOf(points.filter(({ high }) => high !== undefined))) {
    context.beginPath()
    for (const { local, high = 0 } of run) context.lineTo(x(local), y(high))
    for (const { local, low = 0 } of run.toReversed()) context.lineTo(x(local), y(low))
    context.fill()
  }
  context.globalAlpha = 1
}

type Values = readonly (number | null | undefined)[]

function bars(context: CanvasRenderingContext2D, x: readonly number[], values: Values, y: Scale) {
  const distances = x.slice(1).map((at, index) => at - (x[index] ?? at))
  const width = Math.max(1, Math.min(extremesOf(distances)?.[0] ?? 40, 40) * BAR)
  for (const [index, value] of values.entries())
    if (value != null) context.fillRect(x[index] ?? 0, y(value), width, y(0) - y(value))
}

/** A line with dots for values that stand alone; of those that share a pixel, it passes the lowest and the highest. */
function line(context: CanvasRenderingContext2D, x: readonly number[], values: Values, y: Scale) {
  const path = new Path2D()
  let column: { at: number; lowest: number; highest: number; last: number; count: number } | undefined
  const leave = () => {
    if (!column || column.count < 2) return
    for (const place of [column.lowest, column.highest, column.last]) path.lineTo(column.at, place)
  }
  const known = values.flatMap((value, index) => (value === undefined ? [] : [index]))
  for (const index of known) {
    const value = values[index]
    const at = x[index] ?? 0
    if (value == null) {
      leave()
      column = undefined
      continue
    }
    const place = y(value)
    if (column && Math.floor(column.at) === Math.floor(at)) {
      const { lowest, highest, count } = column
      const extremes = { lowest: Math.max(lowest, place), highest: Math.min(highest, place) }
      column = { ...column, ...extremes, last: place, count: count + 1 }
      continue
    }
    leave()
    if (column) path.lineTo(at, place)
    else path.moveTo(at, place)
    column = { at, lowest: place, highest: place, last: place, count: 1 }
  }
  leave()
  context.stroke(path)
  for (const index of dotted(known, values)) {
    context.beginPath()
    context.arc(x[index] ?? 0, y(values[index] ?? 0), DOT, 0, 2 * Math.PI)
    context.fill()
  }
}

const FEW = 60

/** Where dots are: at values that stand alone, or at all if they are few. */
function dotted(known: readonly number[], values: Values): number[] {
  const isValue = (index: number | undefined) => index !== undefined && typeof values[index] === 'number'
  const isAlone = (place: number) => !isValue(known[place - 1]) && !isValue(known[place + 1])
  return known.filter((index, place) => isValue(index) && (known.length < FEW || isAlone(place)))
}
