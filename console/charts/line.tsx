import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import type { LineData } from './samples.ts'

interface LineProps {
  data: LineData
  /** Local epoch ms. */
  from: number
  until: number
  low: number
  high: number
  height: number
  /** Sets the colour, where it is not that of the lane. */
  kind?: string
  dash?: number[]
  /** Bars instead of a line, for values that add up. */
  isBars?: boolean
}

/** Lines over a range of local times, in the text colour of the element around them; without axes. */
export function Line({ kind = '', dash = [], isBars = false, ...drawn }: LineProps) {
  const { data, from, until, low, high, height } = drawn
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const box = element.current
    if (!box) return
    let chart: uPlot | undefined
    const draw = () => {
      chart?.destroy()
      // Nothing can be drawn at width 0.
      if (box.clientWidth === 0) return
      chart = new uPlot(optionsOf(box, { ...drawn, dash, isBars }), data as uPlot.AlignedData, box)
    }
    const resized = new ResizeObserver(() => {
      if (chart?.width !== box.clientWidth) draw()
    })
    resized.observe(box)
    const theme = matchMedia('(prefers-color-scheme: dark)')
    theme.addEventListener('change', draw)
    draw()
    return () => {
      resized.disconnect()
      theme.removeEventListener('change', draw)
      chart?.destroy()
    }
  }, [data, from, until, low, high, height])
  return <div ref={element} class={`line ${kind}`} />
}

type Drawn = Required<Omit<LineProps, 'kind'>>

function optionsOf(box: HTMLElement, { data, dash, isBars, ...area }: Drawn): uPlot.Options {
  const stroke = getComputedStyle(box).color
  return {
    width: box.clientWidth,
    height: area.height,
    padding: [0, 0, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    axes: [{ show: false }, { show: false }],
    scales: {
      x: { time: false, range: () => [area.from, area.until] },
      y: { range: () => [area.low, area.high] },
    },
    series: [{}, ...data.slice(1).map((values) => ({ ...seriesOf(values, stroke, isBars), dash }))],
  }
}

const FEW = 60

/** A line, with dots for values that stand alone. */
function seriesOf(values: readonly (number | null | undefined)[], stroke: string, isBars: boolean): uPlot.Series {
  if (isBars) {
    const paths = uPlot.paths.bars?.({ size: [0.9], align: 1 })
    return { stroke, fill: stroke, width: 0, points: { show: false }, ...(paths && { paths }) }
  }
  const known = values.flatMap((value, index) => (value === undefined ? [] : [index]))
  const isAlone = (place: number) =>
    [place - 1, place + 1].every((next) => typeof values[known[next] ?? -1] !== 'number')
  const alone = known.filter((index, place) => values[index] !== null && isAlone(place))
  // A few values are all to be seen as such.
  const dotted = known.length < FEW ? known : alone
  return { stroke, width: 1.5, spanGaps: false, points: { show: true, size: 3, fill: stroke, filter: () => dotted } }
}
