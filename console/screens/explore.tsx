import { useSignal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { answered, api, Failure, type Schemas } from '../api/client.ts'
import {
  bucketMs,
  type Choice,
  holds,
  type Picture,
  readCoarse,
  readFine,
  resolutionFor,
  type Series,
  type Window,
  within,
} from '../api/explore.ts'
import { signIns, useQuery } from '../api/query.ts'
import { dayOfMonth, timeTicks } from '../charts/days.ts'
import { type Lane, Lanes } from '../charts/lanes.tsx'
import { Line } from '../charts/line.tsx'
import { extremesOf, nearest, reachOf, scaleOf } from '../charts/samples.ts'
import { isSum } from '../charts/sums.ts'
import { clock, DAY_MS, EVER, midnight, offsetText, today } from '../charts/time.ts'
import { Zoom, zoomed } from '../charts/zoom.tsx'
import { ask, query } from '../router.ts'
import { Call } from '../ui/call.tsx'
import { Empty, Failed, Loading, Shown } from '../ui/states.tsx'
import { AsTable } from '../ui/table.tsx'
import { count, unitName, words } from '../ui/words.ts'
import { PersonPage } from './person.tsx'

const MOST_TYPES = 8
const SETTLED_MS = 60
const COLOURS = ['heart', 'accent', 'steps', 'hrv', 'oxygen', 'breath', 'body']
const DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3]]
const value = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 })

/** Up to eight series of a person over any range, as finely as the range allows. */
export function Explore({ id }: { id: string }) {
  return (
    <PersonPage id={id} view="explore">
      {(user) => <Loaded key={id} user={user} />}
    </PersonPage>
  )
}

function Loaded({ user }: { user: Schemas['UserDetail'] }) {
  const params = { path: { user_id: user.id } }
  const stored = useQuery(`types ${user.id}`, (signal) =>
    answered(api.GET('/api/v1/users/{user_id}/summaries/data', { params, signal })),
  )
  return (
    <Shown query={stored} what="what there is">
      {({ series_type_counts }) => {
        const counts = Object.entries(series_type_counts).sort(([, a], [, b]) => b - a)
        const [first] = counts
        return first ? <Explorer user={user} counts={counts} /> : <Empty>Nothing is stored of this person yet.</Empty>
      }}
    </Shown>
  )
}

/** A local time of the address; undefined if there is none. */
function timeOf(name: string): number | undefined {
  const text = query.value.get(name) ?? ''
  const at = Date.parse(text.length > 10 ? `${text}Z` : text)
  return at >= EVER[0] && at <= EVER[1] ? at : undefined
}

/** The offsets of the first and the last point, in minutes. */
function offsetsOf(seen: readonly Series[]): [number, number] {
  const points = seen.flatMap((one) => one.points)
  return [points[0]?.offset ?? 0, points.at(-1)?.offset ?? 0]
}

const textOf = (local: number) => new Date(local).toISOString().slice(0, 16)

/** The window of the address, else all of it. */
function windowOf(whole: Window): Window {
  const [from = whole.from, until = whole.until] = [timeOf('from'), timeOf('to')]
  return from < until ? { from, until } : whole
}

interface ExplorerProps {
  user: Schemas['UserDetail']
  counts: [type: string, samples: number][]
}

function Explorer({ user, counts }: ExplorerProps) {
  const end = midnight(today()) + DAY_MS
  const whole = { from: end - 365 * DAY_MS, until: end }
  const [passing, setPassing] = useState<Window | undefined>(undefined)
  const steps = useRef(0)
  const settled = windowOf(whole)
  const window = passing ?? settled
  const usual = counts.find(([type]) => type === 'heart_rate') ?? counts[0]
  const stored = new Set(counts.map(([type]) => type))
  const asked = (query.value.get('types') ?? usual?.[0] ?? '').split(',')
  const types = [...new Set(asked)].filter((type) => stored.has(type)).slice(0, MOST_TYPES)
  const choice: Choice = { id: user.id, types, isApart: query.value.get('sources') === 'all' }
  const show = (wanted: Window, isPassing = false) => {
    const next = { from: Math.max(wanted.from, EVER[0]), until: Math.min(wanted.until, EVER[1]) }
    if (next.from >= next.until) return
    setPassing(isPassing ? next : undefined)
    if (isPassing) return
    steps.current += 1
    ask({ from: textOf(next.from), to: textOf(next.until) }, false)
  }
  // A wheel and fingers go on for a while: the address follows when they rest.
  useEffect(() => {
    if (!passing) return
    const timer = setTimeout(() => {
      ask({ from: textOf(passing.from), to: textOf(passing.until) })
      setPassing(undefined)
    }, SETTLED_MS)
    return () => clearTimeout(timer)
  }, [passing])
  const back = () => {
    if (steps.current > 0) history.back()
    else show(whole)
    steps.current = Math.max(0, steps.current - 1)
  }
  return (
    <>
      <Types counts={counts} types={types} />
      <Controls window={window} whole={whole} show={show} isApart={choice.isApart} />
      {types.length > 0 && <Chart choice={choice} asked={settled} zoom={{ window, whole, show, back }} />}
    </>
  )
}

function Types({ counts, types }: { counts: ExplorerProps['counts']; types: readonly string[] }) {
  const change = (type: string) =>
    ask({ types: (types.includes(type) ? types.filter((one) => one !== type) : [...types, type]).join(',') })
  return (
    <details class="choices" open={types.length === 0}>
      <summary>
        {types.map(words).join(', ') || 'Choose what to see'} · {types.length} of at most {MOST_TYPES}
      </summary>
      {counts.map(([type, samples]) => (
        <label key={type}>
          <input
            type="checkbox"
            checked={types.includes(type)}
            disabled={types.length >= MOST_TYPES && !types.includes(type)}
            onChange={() => change(type)}
          />{' '}
          {words(type)} <span class="quiet">{count(samples)}</span>
        </label>
      ))}
    </details>
  )
}

type ControlsProps = { window: Window; whole: Window; show(next: Window): void; isApart: boolean }

function Controls({ window, whole, show, isApart }: ControlsProps) {
  const middle = (window.from + window.until) / 2
  const buttons: [name: string, sign: string, next: Window][] = [
    ['Earlier', '‹', zoomed(window, 1, middle, -0.5)],
    ['Wider', '−', zoomed(window, 2, middle)],
    ['Closer', '+', zoomed(window, 0.5, middle)],
    ['Later', '›', zoomed(window, 1, middle, 0.5)],
    ['Last 12 months', 'Last 12 months', whole],
  ]
  return (
    <div class="buttons">
      {buttons.map(([name, sign, next]) => (
        <button key={name} type="button" aria-label={name} title={name} onClick={() => show(next)}>
          {sign}
        </button>
      ))}
      <button type="button" aria-pressed={isApart} onClick={() => ask({ sources: isApart ? null : 'all' })}>
        Every source apart
      </button>
    </div>
  )
}

/** Pictures of the chosen series: the one to draw, and whether a finer one is on its way. */
function usePictures(choice: Choice, window: Window) {
  const [round, setRound] = useState(0)
  const key = `${choice.id} ${choice.types} ${choice.isApart} ${signIns.value}`
  const [known, setKnown] = useState<{ key: string; pictures: Picture[]; failure?: Failure }>({ key, pictures: [] })
  const pictures = known.key === key ? known.pictures : []
  const wanted = resolutionFor(window)
  const exact = pictures.find((one) => one.wanted === wanted && holds(one, window))
  useEffect(() => {
    if (exact) return
    const controller = new AbortController()
    const { signal } = controller
    const found = [...pictures]
    const keep = (picture: Picture) => {
      found.unshift(picture)
      if (!signal.aborted) setKnown({ key, pictures: found.slice(0, 12) })
    }
    const load = async () => {
      let coarse = pictures.find((one) => one.wanted === '1hour' && holds(one, window))
      if (!coarse) {
        coarse = await readCoarse(choice, window, signal)
        keep(coarse)
      }
      if (wanted !== '1hour') keep(await readFine(choice, window, coarse, signal))
    }
    load().catch((error: unknown) => {
      if (signal.aborted) return
      setKnown({
        key,
        pictures: found,
        failure: error instanceof Failure ? error : new Failure(0, String(error), null),
      })
    })
    return () => controller.abort()
  }, [key, window.from, window.until, round])
  // Until the finer picture is there, the last one that has anything of the window.
  const shown = exact ?? pictures.find((one) => holds(one, window)) ?? pictures[0]
  const failure = known.key === key ? known.failure : undefined
  return { shown, isReady: exact !== undefined, failure, again: () => setRound(round + 1) }
}

interface ChartProps {
  choice: Choice
  asked: Window
  zoom: { window: Window; whole: Window; show(window: Window, passing?: boolean): void; back(): void }
}

function Chart({ choice, asked, zoom }: ChartProps) {
  const cursor = useSignal<number | undefined>(undefined)
  const marked = useSignal<Window | undefined>(undefined)
  const { shown, isReady, failure, again } = usePictures(choice, asked)
  const problem = failure && <Failed query={{ state: 'failed', data: undefined, failure, again }} />
  if (!shown) return problem ?? <Loading what="samples" />
  const { window } = zoom
  const seen = shown.series.map((one) => ({ ...one, points: within(one.points, window) }))
  const points = seen.reduce((sum, one) => sum + one.points.length, 0)
  const narrow = matchMedia('(max-width: 640px)').matches
  return (
    <>
      {problem}
      <Zoom {...zoom} cursor={cursor} marked={marked}>
        <Lanes
          name="Explore"
          lanes={lanesOf(shown, seen, window)}
          marks={marked.value ? [{ kind: 'chosen', ...marked.value }] : []}
          from={window.from}
          until={window.until}
          ticks={timeTicks(window.from, window.until, narrow ? 5 : 10)}
          points={points}
          resolution={shown.resolution}
          stepMs={Math.max(bucketMs(shown.resolution), (window.until - window.from) / 200)}
          say={(local) => `${dayOfMonth(local)} ${clock(local)}`}
          cursor={cursor}
          state={isReady ? 'ready' : 'loading'}
        />
      </Zoom>
      <Seen picture={shown} seen={seen} window={window} isReady={isReady} />
      <Call {...choice} {...window} resolution={shown.resolution} offsets={offsetsOf(seen)} />
    </>
  )
}

interface SeenProps {
  picture: Picture
  /** What of it lies in the window. */
  seen: readonly Series[]
  window: Window
  isReady: boolean
}

/** What is seen, in words and as rows. */
function Seen({ picture, seen, window, isReady }: SeenProps) {
  const points = seen.reduce((sum, one) => sum + one.points.length, 0)
  const name = picture.resolution === 'raw' ? 'single samples' : picture.resolution.replace(/\d+/, '$& ')
  return (
    <>
      <p>
        <span class="tag">
          {name} · {count(points)} points{picture.isCut ? ', the first of more' : ''}
        </span>
        <span class="quiet">
          {textOf(window.from).replace('T', ' ')} to {textOf(window.until).replace('T', ' ')}, local time. Drag over a
          part to come closer, double click to go back.
        </span>
      </p>
      {points === 0 && isReady && <Empty>Nothing of this was measured in these days.</Empty>}
      <AsTable
        name="explore"
        head={['Local time', 'UTC', 'Series', 'Source', 'Value', 'Unit']}
        rows={() =>
          seen.flatMap(({ type, unit, source, points }) =>
            points.map((one) => [
              new Date(one.local).toISOString().slice(0, 19).replace('T', ' '),
              offsetText(one.offset).replace('−', '-'),
              type,
              source || 'best',
              one.value,
              unit,
            ]),
          )
        }
      />
    </>
  )
}

const titleOf = ({ type, source }: Series) => (source ? `${words(type)}, ${source}` : words(type))

/** What a lane has to hold of a series: the extremes of its samples too, unless they add up. */
const valuesOf = ({ type, points }: Series): number[] =>
  isSum(type) ? points.map(({ value }) => value) : reachOf(points)

/** A lane for each unit, with all series that have it. */
function lanesOf({ resolution }: Picture, all: readonly Series[], window: Window): Lane[] {
  const units = [...new Set(all.map(({ unit }) => unit))]
  const height = units.length > 2 ? 110 : 180
  return units.map((unit) => {
    const own = all.filter((one) => one.unit === unit)
    const areSums = own.every(({ type }) => isSum(type))
    const isBars = areSums && own.length === 1
    const { low: least, high, ticks } = scaleOf(own.flatMap(valuesOf))
    const low = areSums ? 0 : least
    const style = (one: Series) => ({
      kind: COLOURS[all.indexOf(one) % COLOURS.length] ?? '',
      dash: DASHES[own.indexOf(one) % DASHES.length] ?? [],
    })
    const far = Math.max(bucketMs(resolution), (window.until - window.from) / 100)
    return {
      name: own.map(titleOf).join(', '),
      unit: `${unitName(unit)}${areSums && resolution !== 'raw' ? ` in ${resolution.replace(/\d+/, '$& ')}` : ''}`,
      kind: 'several',
      height,
      legend: own.length > 1 && own.map((one) => <Legend key={titleOf(one)} name={titleOf(one)} {...style(one)} />),
      plot: own.map((one) => (
        <Line
          key={titleOf(one)}
          points={one.points}
          from={window.from}
          until={window.until}
          {...{ low, high, isBars }}
          isBare={isSum(one.type)}
          {...style(one)}
        />
      )),
      ticks: ticks
        .filter((tick) => tick >= low)
        .map((at) => ({ at: (at - low) / (high - low), text: value.format(at) })),
      figure(local) {
        const said = own.map((one) => {
          if (local !== undefined) {
            const point = nearest(one.points, local, far)
            return point ? value.format(point.value) : 'no data'
          }
          const extremes = extremesOf(valuesOf(one))?.map(value.format)
          return extremes ? [...new Set(extremes)].join('–') : 'no data'
        })
        return said.join(' · ')
      },
    }
  })
}

function Legend({ name, kind, dash }: { name: string; kind: string; dash: number[] }) {
  return (
    <span class="legend" dir="auto">
      <svg class={kind} width={28} height={6} aria-hidden="true">
        <path d="M0 3h28" stroke-dasharray={dash.join(' ')} />
      </svg>{' '}
      {name}
    </span>
  )
}
