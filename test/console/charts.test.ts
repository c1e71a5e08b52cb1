// What charts compute, without a browser.
import t from 'tap'
import type { Schemas } from '../../console/api/client.ts'
import { coverageOf, emptyText, joined, kindOf, typesOn, whyEmpty } from '../../console/charts/coverage.ts'
import { stepsOf, usualRanges, weekMeans, weekMedians } from '../../console/charts/days.ts'
import { isNameOf } from '../../console/charts/names.ts'
import { folded } from '../../console/charts/same.ts'
import {
  clockOf,
  dailyMeans,
  extremesOf,
  linesOf,
  type Point,
  pointsOf,
  reachOf,
  runsOf,
  scaleOf,
} from '../../console/charts/samples.ts'
import { middlesOf, type Night, nightOf, regularityOf } from '../../console/charts/sleep.ts'
import { isSum } from '../../console/charts/sums.ts'
import { DAY_MS, HOUR_MS, isDate, newestFull } from '../../console/charts/time.ts'
import { qrOf } from '../../console/ui/qr.ts'
import { seriesTypes } from '../../server/catalogue/series.ts'
import { appleRecords } from '../../server/providers/apple/records.ts'
import { androidRecords } from '../../server/providers/health_connect/records.ts'

/** A night of a date in 2026, from some hour of the evening before. */
function night(day: number, hour: number, hours: number): Night {
  const from = Date.UTC(2026, 1, day) - DAY_MS + hour * HOUR_MS
  const session = {
    id: String(day),
    start_time: new Date(from).toISOString(),
    end_time: new Date(from + hours * HOUR_MS).toISOString(),
    zone_offset: null,
    is_nap: false,
  }
  return nightOf(session as Schemas['SleepSession'])
}

t.test('the regularity of sleep', async (t) => {
  const equal = Array.from({ length: 7 }, (_, day) => night(day + 1, 23, 8))
  t.equal(regularityOf(equal), 100)
  t.equal(regularityOf(equal.slice(1)), undefined, 'six nights say nothing')
  const shifted = Array.from({ length: 8 }, (_, day) => night(day + 1, day % 2 === 0 ? 20 : 28, 8))
  t.equal(
    regularityOf(shifted)?.toFixed(6),
    (-100 + 200 * (8 / 24)).toFixed(6),
    'eight hours are equal, sixteen are not',
  )
  const holes = [1, 2, 3, 5, 6, 7, 9].map((day) => night(day, 23, 8))
  t.equal(regularityOf(holes), 100, 'a night that is missing is not one awake')
})

t.test('means, usual ranges and steps of days', async (t) => {
  t.strictSame(weekMeans([1, 2, null, 6, null, null, null, null]), [null, null, null, 3, 3, 3, 3, null])
  const ranges = usualRanges([...Array(7).fill(10), 99, ...Array(7).fill(20)])
  t.strictSame(ranges.slice(0, 8), [null, null, null, null, null, null, null, [10, 10]])
  t.ok((ranges[8]?.[1] ?? 0) > 40, 'the day itself is not part of what was usual')
  t.strictSame(stepsOf([null, ...Array.from({ length: 11 }, (_, n) => n)]), [null, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5])
})

t.test(
  'lines break at holes and where the clock changes, and their bands reach from the lowest to the highest sample',
  async (t) => {
    const minute = (at: number) => Date.UTC(2026, 1, 1) + at * 60_000
    // The last two are an hour of the clock later: it was set forward.
    const at = [0, 1, 2, 40, 41, 42, 43]
    const page = {
      series: [{ type: 'heart_rate' }],
      columns: {
        timestamp_ms: at.map(minute),
        value: at.map((_, index) => 60 + index),
        zone_offset_min: [60, 60, 60, 60, 60, 120, 120],
        series: at.map(() => 0),
        min: at.map((_, index) => 50 + index),
        max: at.map((_, index) => 70 + index),
        count: at.map(() => 3),
      },
    } as unknown as Schemas['ColumnarSamplePage']
    const points = pointsOf(page, 'heart_rate', [minute(0), minute(24 * 60)])
    t.strictSame(
      runsOf(points).map((run) => run.map(({ value }) => value)),
      [
        [60, 61, 62],
        [63, 64],
        [65, 66],
      ],
    )
    const [, winter = [], summer = []] = linesOf(points)
    t.strictSame(
      winter.filter((value) => value !== undefined),
      [60, 61, 62, null, 63, 64],
    )
    t.strictSame(
      summer.filter((value) => value !== undefined),
      [65, 66],
    )
    t.strictSame(extremesOf(reachOf(points)), [50, 76])
  },
)

t.test('a scale holds more values than a call has room for', async (t) => {
  const points = Array.from({ length: 300_000 }, (_, index): Point => {
    const value = 60 + (index % 100)
    return { local: index, offset: 0, value, low: value - 10, high: value + 10 }
  })
  t.strictSame(extremesOf(reachOf(points)), [50, 169])
  const { low, high } = scaleOf(reachOf(points))
  t.ok(low < 50 && high > 169)
  t.equal(extremesOf([]), undefined)
})

const DAY = '2026-02-10'
const USER = { id: 'ada', connections: [] } as unknown as Schemas['UserDetail']

type Arrival = Schemas['CoverageArrival']
type Workout = Schemas['Workout']

/** What arrived on days, of a person who has sent something before. */
function arrived(arrivals: readonly Partial<Arrival>[], days: readonly Partial<Schemas['CoverageDay']>[] = []) {
  const none = { queued: 0, failed: 0, received: 0, ignored: 0, rejected: 0, deleted: 0 }
  const filled = arrivals.map((one) => ({
    ...{ day: DAY, provider: 'apple', uploads: 1, last_upload_at: '', unstored: [], ...none },
    ...one,
  }))
  const last_upload_at = '2026-02-20T12:00:00Z'
  const providers = [{ provider: 'apple', first_upload_at: '', last_upload_at, first_day: '2026-01-01', last_day: DAY }]
  const counted = { day: DAY, provider: 'apple', received: 0, stored: 0, implausible: 0, rejected: 0, reasons: [] }
  const rows = days.map((one) => ({ ...counted, last_upload_at: null, type: 'steps', ...one }))
  return coverageOf({ days: rows, arrivals: filled, providers }, '2026-02-20')
}

t.test('a day is empty because its uploads wait, or could not be imported', async (t) => {
  const of = (arrivals: Partial<Arrival>[], type?: string) => {
    const { kind, text } = whyEmpty(arrived(arrivals), { user: USER, date: DAY, ...(type && { type }) })
    return [kind, text]
  }
  t.strictSame(of([{ uploads: 3, queued: 2, failed: 1 }]), ['waiting', '2 uploads of this day wait to be imported.'])
  t.strictSame(of([{ day: '2026-02-11', queued: 1 }]), ['waiting', '1 upload of the day after waits to be imported.'])
  t.strictSame(of([{ uploads: 3, failed: 1 }], 'steps'), ['failed', '1 upload of this day could not be imported.'])
  t.equal(of([{ uploads: 3 }])[0], 'touched')
})

t.test('the calendar says what came of an empty day', async (t) => {
  const of = (arrivals: Partial<Arrival>[], days: Partial<Schemas['CoverageDay']>[] = []) =>
    emptyText(arrived(arrivals, days), DAY)
  t.equal(of([{ queued: 1 }]), '1 upload waiting to be imported')
  t.equal(of([{ failed: 2 }]), '2 uploads could not be imported')
  t.equal(of([{ ignored: 2 }]), 'uploads came, but only with types that are not stored')
  t.equal(of([{}]), 'uploads came, but nothing had been measured')
  t.equal(of([]), 'nothing came')
  t.equal(of([], [{ received: 5, rejected: 5 }]), '5 came, none could be stored')
  t.equal(of([], [{ received: 5, rejected: 2 }]), '5 came, nothing of it is there any longer, 2 could not be stored')
})

t.test('an ignored type explains only the lack of what it means', async (t) => {
  const heart = 'HKQuantityTypeIdentifierHeartRate'
  const unstored = [{ collection: 'records', type: 'heart_rat', reason: 'ignored_type', items: 4, likely: heart }]
  const known = arrived([{ ignored: 4, unstored }])
  const of = (type?: string) => whyEmpty(known, { user: USER, date: DAY, ...(type && { type }) })
  t.match(of('heart_rate').text, `4 items were not stored, of the type heart_rat: Apple calls it ${heart}.`)
  t.equal(of().kind, 'ignored')
  t.strictSame(of('steps'), {
    kind: 'touched',
    text: 'The phone was in touch (1 upload) but sent nothing that is stored.',
  })
  const beside = arrived([{ ignored: 4, unstored }], [{ type: 'weight', received: 1, stored: 1 }])
  t.equal(whyEmpty(beside, { user: USER, date: DAY, type: 'steps' }).kind, 'others')
  t.equal(whyEmpty(beside, { user: USER, date: DAY, type: 'heart_rate' }).kind, 'ignored')
  t.equal(whyEmpty(beside, { user: USER, date: DAY }).kind, 'others')
})

t.test('each name of a phone means the type that it is stored as, and no other', async (t) => {
  for (const [name, rule] of [...appleRecords, ...androidRecords]) {
    if (typeof rule !== 'object' || !('series' in rule)) continue
    const meant = seriesTypes.filter(({ type }) => isNameOf(name, type))
    t.strictSame(
      meant.map(({ type }) => type),
      [rule.series.type],
      name,
    )
  }
  t.ok(isNameOf('HKCategoryTypeIdentifierSleepAnalysis', 'sleep'))
})

t.test('the mean of a day is that of its samples, not that of its hours', async (t) => {
  const at = (hour: number) => Date.UTC(2026, 1, 1, hour)
  const page = {
    series: [{ type: 'weight' }],
    columns: {
      timestamp_ms: [at(7), at(20), at(30)],
      value: [80, 84, 81],
      zone_offset_min: [60, 60, 60],
      series: [0, 0, 0],
      min: [79, 84, 81],
      max: [81, 84, 81],
      count: [3, 1, 2],
    },
  } as unknown as Schemas['ColumnarSamplePage']
  const means = dailyMeans(pointsOf(page, 'weight', [at(0), at(72)]))
  t.strictSame([...means], Object.entries({ '2026-02-01': 81, '2026-02-02': 81 }))
})

t.test('the days before the first one that is shown say what is usual on it', async (t) => {
  const on = (day: string, type: string) => ({ day, type, received: 1, stored: 1 })
  const before = Array.from({ length: 30 }, (_, day) => {
    const date = new Date(Date.UTC(2026, 0, 11 + day)).toISOString().slice(0, 10)
    return [on(date, 'steps'), on(date, 'weight')]
  })
  const shown = arrived([], [on(DAY, 'steps'), { day: '2026-02-11', received: 5, rejected: 5 }])
  t.equal(kindOf(shown, DAY), 'all')
  t.equal(kindOf(joined(arrived([], before.flat()), shown), DAY), 'some')
  t.equal(kindOf(shown, '2026-02-11'), 'touched', 'what could not be stored came')
  t.equal(kindOf(shown, '2026-02-12'), 'silent')
})

t.test('the types that are drawn as sums are those whose buckets are sums', async (t) => {
  for (const { type, aggregation } of seriesTypes) t.equal(isSum(type), aggregation === 'sum', type)
})

t.test('the last upload came on a day of the person, else on one of UTC', async (t) => {
  const late = (arrivals: Partial<Arrival>[]) => whyEmpty(arrived(arrivals), { user: USER, date: '2026-02-25' }).text
  const at = { last_upload_at: '2026-02-20T12:00:00Z' }
  t.match(late([{ day: '2026-02-21', ...at }]), /^The last upload came on Saturday,? 21 February 2026, /)
  t.match(late([]), /^The last upload came on Friday,? 20 February 2026 \(UTC\), /)
})

t.test('the middle of nights, and the median of seven', async (t) => {
  const nap = { ...night(2, 34, 2), isNap: true }
  const nights = [night(1, 23, 8), nap, night(2, 22, 9), night(4, 24, 6), night(5, 31, 6)]
  const middles = middlesOf(nights, Date.UTC(2026, 1, 1), 6)
  t.strictSame(middles, [900, 870, null, 900, 1320, null], 'from noon: at 3:00, 2:30, 3:00 and 10:00')
  t.strictSame(weekMedians(middles), [null, null, null, 900, 900, null])
  t.strictSame(weekMedians([1, 9, 5, null, 7]), [null, null, 5, 5, 6], 'of two in the middle their mean')
})

t.test('in a night in which clocks are set back, its times are those that clocks showed', async (t) => {
  const at = (hour: number) => Date.UTC(2026, 10, 1, hour)
  const timestamp_ms = Array.from({ length: 8 * 12 }, (_, index) => at(2) + index * 300_000)
  const zone_offset_min = timestamp_ms.map((ms) => (ms < at(6) ? -240 : -300))
  const say = clockOf({ columns: { timestamp_ms, zone_offset_min } } as unknown as Schemas['ColumnarSamplePage'], -240)
  const local = (hour: number) => at(hour) - 4 * HOUR_MS
  t.equal(say(local(3)), '23:00')
  t.equal(say(local(5)), '01:00')
  t.equal(say(local(6)), '01:00')
  t.equal(say(local(10)), '05:00')
})

t.test('a workout that several recorded stands once, of the best source', async (t) => {
  const at = (minute: number) => new Date(Date.UTC(2026, 1, 1, 8, minute)).toISOString()
  const source = (provider: string) => ({ provider, source: null, device: null, device_name: null, device_type: null })
  const hike = (provider: string, from: number, until: number) =>
    ({ id: `${provider} ${from}`, source: source(provider), start_time: at(from), end_time: at(until) }) as Workout
  const all = [hike('polar', 0, 100), hike('apple', 2, 95), hike('strava', 5, 100), hike('apple', 110, 130)]
  const ids = (ranked: string[]) =>
    folded(all, ranked.map(source)).map(({ workout, others }) => [workout.id, ...others.map(({ id }) => id)])
  t.strictSame(ids(['apple', 'strava']), [['apple 2', 'strava 5', 'polar 0'], ['apple 110']])
  t.strictSame(ids([]), [['polar 0', 'apple 2', 'strava 5'], ['apple 110']], 'nobody ranks: the first one')
  const apart = [hike('apple', 0, 60), hike('apple', 0, 60), hike('polar', 40, 100)]
  t.equal(folded(apart).length, 3, 'twice of one source, and a third of the time together')
})

t.test('an axis has two numbers at least', async (t) => {
  for (const values of [
    [62, 127],
    [13.7, 15.4],
    [0, 1],
    [96, 98],
    [5, 5],
    [0, 0],
    [1000, 1000.1],
    [-3, 40_000],
    [0.001, 0.0012],
  ]) {
    const { low, high, ticks } = scaleOf(values)
    t.ok(ticks.length >= 2 && ticks.length <= 6, `${values}: ${ticks}`)
    t.ok(
      ticks.every((tick) => tick >= low && tick <= high),
      `${low} to ${high}`,
    )
  }
})

t.test('a person opens with the newest day, in the morning with the one before', async (t) => {
  const at = (hour: number) => new Date(2026, 1, 10, hour)
  t.equal(newestFull(['2026-02-09', '2026-02-10', '2026-02-08'], at(14)), '2026-02-10')
  t.equal(newestFull(['2026-02-09', '2026-02-10'], at(8)), '2026-02-09')
  t.equal(newestFull(['2026-02-08', '2026-02-10'], at(8)), '2026-02-10', 'nothing of yesterday')
  t.equal(newestFull(['2026-02-08', '2026-02-09'], at(8)), '2026-02-09')
  t.equal(newestFull([], at(8)), undefined)
})

t.test('dates of which nothing can be stored are none', async (t) => {
  for (const date of ['0001-01-01', '1970-01-01', '2100-01-02', '9999-12-31', '2026-02-29', '26-2-1'])
    t.notOk(isDate(date))
  for (const date of ['1970-01-02', '2024-02-29', '2100-01-01']) t.ok(isDate(date))
})

t.test('sleep is there on the day of waking; the stages of the evening are not missed', async (t) => {
  const known = arrived(
    [{}],
    [
      { type: 'sleep', received: 6 },
      { day: '2026-02-11', type: 'sleep', received: 30, stored: 1 },
    ],
  )
  t.strictSame([...typesOn(known, DAY)], [])
  t.strictSame([...typesOn(known, '2026-02-11')], ['sleep'])
  t.equal(whyEmpty(known, { user: USER, date: DAY, type: 'sleep' }).kind, 'touched', 'nothing was deleted')
  const gone = arrived([{}], [{ type: 'sleep', received: 6 }])
  t.equal(whyEmpty(gone, { user: USER, date: DAY, type: 'sleep' }).kind, 'deleted')
})

t.test('what a runner does on five days a week is not missed on the others', async (t) => {
  const days = Array.from({ length: 30 }, (_, index) => {
    const day = new Date(Date.UTC(2026, 0, 11 + index)).toISOString().slice(0, 10)
    const on = (type: string) => ({ day, type, received: 1, stored: 1 })
    return index % 7 < 5 ? [on('steps'), on('workout')] : [on('steps')]
  })
  t.equal(kindOf(arrived([], [...days.flat(), { type: 'steps', received: 1, stored: 1 }]), DAY), 'all')
  const weights = Array.from({ length: 40 }, (_, index) => {
    const day = new Date(Date.UTC(2026, 1, 10 + index)).toISOString().slice(0, 10)
    return { day, type: 'weight', received: 1, stored: 1 }
  })
  const stopped = arrived([], [...days.flat(), ...weights])
  t.equal(kindOf(stopped, '2026-02-10'), 'some', 'steps come no more')
  t.equal(kindOf(stopped, '2026-03-11'), 'some', 'and are missed for a month')
  t.equal(kindOf(stopped, '2026-03-12'), 'all')
})

t.test('QR codes are those of another encoder', async (t) => {
  const text = 'http://192.168.1.5:8000/#invitation=K7QM2XWP'
  const rows = `1fc5b27f 1054b441 1741745d 175d9d5d 17484e5d 105be841 1fd5557f e5000 1f7a4daa 2055651 19543c30 131150d2
    e4d4bac 10809e55 45b74c4 1aba62a2 1d28b84 11815edd 1748a94c 12a135d2 12c979f7 1cd31f 1fd33b5c 104e2512 175369fd
    17515da3 1759e75a 105171b2 1fd8780c`
  t.strictSame(
    qrOf(text)?.map((row) => Number.parseInt(row.map(Number).join(''), 2).toString(16)),
    rows.split(/\s+/),
  )
  t.strictSame(
    [1, 17, 18, 32, 53, 78, 106].map((length) => qrOf('x'.repeat(length))?.length),
    [21, 21, 25, 25, 29, 33, 37],
  )
  t.equal(qrOf('x'.repeat(107)), undefined)
})
