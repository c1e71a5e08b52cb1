// What a provider says later of the same thing: the rows are those of its last answer.
import t from 'tap'
import { cloudProviders } from '../../server/providers/index.ts'
import type { Json } from '../../server/providers/part.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { type CloudUser, connectedUser, write } from '../support/given.ts'
import { batchOf } from '../support/parcels.ts'
import { oneEngine, storedSamples } from '../support/sdk.ts'

const ASKED = Date.UTC(2026, 2, 11)
const HOUR = 3_600_000

oneEngine(t, 'answers that differ from earlier ones', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('the total of a day follows its person to another zone', async (t) => {
    const user = await connectedUser(app, 'oura')
    const totals = (at: string, steps: number) => [`${at} basal_energy 800`, `${at} energy 100`, `${at} steps ${steps}`]
    const day = { id: 'today', day: '2026-03-10', steps: 4_000, active_calories: 100, total_calories: 900 }
    for (const id of ['today', undefined]) {
      const at = async (hours: number, timestamp: string, steps: number) =>
        answered(app, user, hours, 'daily_activity', [{ ...day, id, timestamp, steps }])
      await at(0, '2026-03-10T00:00:00+01:00', 4_000)
      await at(8, '2026-03-10T00:00:00+09:00', 5_000)
      t.strictSame(await lines(app, user), totals('2026-03-09T15:00Z', 5_000), 'east')
      await at(16, '2026-03-10T00:00:00-05:00', 6_000)
      t.strictSame(await lines(app, user), totals('2026-03-10T05:00Z', 6_000), 'west')
      await app.db.query('delete from data_source where user_id = $1', [user.userId])
    }
  })

  await t.test('what was typed in after all, or is of somebody else, is no longer of the device', async (t) => {
    const user = await connectedUser(app, 'withings')
    const group = (attrib: number) => ({
      ...{ grpid: 1, attrib, date: ASKED / 1000, category: 1, modelid: 45 },
      measures: [
        { type: 10, value: 121, unit: 0 },
        { type: 11, value: 62, unit: 0 },
      ],
    })
    const told = (...attribs: number[]) =>
      write(
        app,
        user,
        batchOf(
          'withings',
          attribs.map((attrib, hours) => ({
            ...{ stream: 'measures', at: utc(hours), body: { status: 0, body: { measuregrps: [group(attrib)] } } },
          })),
        ),
      )
    const sources = async () =>
      (await storedSamples(app.db, user.userId)).map(({ source, type }) => `${source} ${type}`)
    const of = (source: string) => [`${source} heart_rate`, `${source} blood_pressure_systolic`]
    await told(0)
    t.strictSame(await sources(), of('Withings'))
    t.match(await told(2), { inserted: 2, deleted: 1 })
    t.strictSame(await sources(), of('manual'))
    t.match(await told(2), { inserted: 0, updated: 0, deleted: 0 }, 'again, nothing changes')
    t.strictSame(await sources(), of('manual'))
    for (const attribs of [
      [0, 1],
      [0, 4],
    ]) {
      await app.db.query('delete from data_source where user_id = $1', [user.userId])
      await told(...attribs)
      t.strictSame(await sources(), [], `${attribs}, in one import`)
    }
    await told(0, 2)
    t.strictSame(await sources(), of('manual'))
  })

  await t.test('a value of a date has no offset, wherever its person was', async (t) => {
    const user = await connectedUser(app, 'oura')
    const run = { id: 'run', activity: 'running', calories: 90 }
    const times = { start_datetime: '2026-03-10T02:00:00-08:00', end_datetime: '2026-03-10T03:00:00-08:00' }
    const day = { day: '2026-03-10' }
    await write(
      app,
      user,
      batchOf('oura', [
        part(0, 'workout', [{ ...run, ...times }]),
        part(0, 'heartrate', [{ timestamp: '2026-03-10T12:00:00Z', bpm: 60 }]),
        part(0, 'daily_spo2', [{ ...day, id: 'o', spo2_percentage: { average: 97 } }]),
        part(0, 'daily_stress', [{ ...day, id: 's', day_summary: 'normal' }]),
        part(0, 'daily_activity', [{ ...day, id: 'a', steps: 4_000 }]),
      ]),
    )
    const zones = (await storedSamples(app.db, user.userId)).map(({ ts, type, zone }) => [ts.slice(0, 16), type, zone])
    t.strictSame(zones, [
      ['2026-03-10T00:00', 'oxygen_saturation', null],
      ['2026-03-10T00:00', 'steps', null],
      ['2026-03-10T12:00', 'heart_rate', -480],
    ])
    t.match(await scores(app, user), [{ recorded_at: '2026-03-10T00:00:00Z', zone_offset: null, category: 'stress' }])
    const path = `/api/v1/users/${user.userId}/summaries/activity?start_date=2026-03-09&end_date=2026-03-11`
    const { body } = await app.request('GET', path)
    t.match(
      body.data.find(({ date }: { date: string }) => date === '2026-03-10'),
      { steps: 4_000 },
    )
  })

  await t.test('a night that is told again with other times takes its values along', async (t) => {
    const at = (minutes: number) => new Date(Date.UTC(2026, 2, 9, 22, minutes)).toISOString()
    const told: Record<string, (from: number, until: number) => { args: Json; body: object }> = {
      oura: (from, until) => ({
        args: { one: true },
        body: { id: 'n', bedtime_start: at(from), bedtime_end: at(until), average_breath: 15, lowest_heart_rate: 50 },
      }),
      whoop: (from, until) => ({
        args: { one: true },
        body: {
          ...{ id: 'n', start: at(from), end: at(until), timezone_offset: '+01:00', updated_at: at(until) },
          ...{ score_state: 'SCORED', score: { respiratory_rate: 15 } },
        },
      }),
      suunto: (from, until) => ({
        args: null,
        body: [
          {
            timestamp: at(from),
            entryData: {
              ...{ SleepId: 7, BedtimeStart: at(from), BedtimeEnd: at(until), Duration: (until - from) * 60 },
              ...{ HRMin: 50, AvgHRV: 40 },
            },
          },
        ],
      }),
    }
    for (const [provider, of] of Object.entries(told)) {
      const user = await connectedUser(app, provider)
      const tell = (...times: [from: number, until: number][]) =>
        write(
          app,
          user,
          batchOf(
            provider,
            times.map((one) => ({ stream: 'sleep', at: utc(0), ...of(...one) })),
          ),
        )
      await tell([10, 400])
      const first = await lines(app, user)
      t.equal(first.length, provider === 'whoop' ? 1 : 2, provider)
      await tell([0, 420])
      const second = await lines(app, user)
      t.equal(second.length, first.length, `${provider}: they moved`)
      t.notSame(second, first)
      await tell([10, 400], [0, 430])
      t.equal((await lines(app, user)).length, first.length, `${provider}: twice in one parcel`)
    }
  })

  await t.test('a score goes when the provider takes it back', async (t) => {
    const user = await connectedUser(app, 'whoop')
    const span = { start: '2026-03-09T22:00:00Z', end: '2026-03-10T06:00:00Z', timezone_offset: '+01:00' }
    const scored = {
      sleep: { sleep_performance_percentage: 80, respiratory_rate: 15 },
      workout: { strain: 9, kilojoule: 418.4 },
      cycle: { strain: 12 },
      recovery: { recovery_score: 60, resting_heart_rate: 50 },
    }
    const args = { of: 'recovery', sleeps: { n: [Date.parse(span.start), Date.parse(span.end), 60] } }
    const at = (hours: number, state: 'SCORED' | 'UNSCORABLE', kinds = Object.keys(scored)) => {
      const parts = Object.entries(scored).flatMap(([stream, score]) => {
        if (!kinds.includes(stream)) return []
        const own = {
          sleep: { ...span, id: 'n' },
          workout: { ...span, id: 'w' },
          cycle: { ...span, id: 'c', start: '2026-03-09T21:59:00Z' },
          recovery: { sleep_id: 'n', created_at: span.end },
        }[stream]
        const record = { ...own, updated_at: utc(hours), score_state: state, ...(state === 'SCORED' && { score }) }
        return [{ ...part(hours, stream, [record]), ...(stream === 'recovery' && { args }) }]
      })
      return write(app, user, batchOf('whoop', parts))
    }
    await at(0, 'SCORED')
    const all = ['recovery', 'sleep', 'strain', 'strain']
    const now = async () => (await scores(app, user)).map(({ category }) => category).sort()
    t.strictSame(await now(), all)
    const measured = ['2026-03-10T06:00Z recovery_score 60', '2026-03-10T06:00Z respiratory_rate 15']
    t.strictSame(await lines(app, user), [...measured, '2026-03-10T06:00Z resting_heart_rate 50'])
    for (const kind of Object.keys(scored)) {
      t.match(await at(2, 'UNSCORABLE', [kind]), { changed: true }, kind)
      t.equal((await now()).length, 3, kind)
      t.match(await at(2, 'UNSCORABLE', [kind]), { changed: false }, kind)
      await at(3, 'SCORED', [kind])
      t.strictSame(await now(), all, kind)
    }
    await at(4, 'UNSCORABLE')
    t.strictSame(await now(), [])
    t.strictSame(await lines(app, user), [], 'with what was measured')
  })
})

oneEngine(t, 'what a provider has deleted goes, wherever it stood', async (t, engine) => {
  const app = await startTestApp(t, engine)
  // Hours before the answer; of the pull, whose window is 2 days of Oura and a week of WHOOP, and of a longer past.
  const all: [string, number][] = [
    ['oldest', -44],
    ['second', -35],
    ['third', -34],
    ['newest', -20],
  ]
  const far: [string, number][] = [
    ['before', -24 * 12],
    ['alone', -24 * 22],
  ]
  for (const provider of ['oura', 'whoop', 'strava', 'polar']) {
    const ask = async (user: CloudUser, days: number, items: [string, number][], more: string | null = null) => {
      await write(app, user, batchOf(provider, [workoutsListed(provider, days, items, more)]))
      const rows = await app.db.query<{ id: string }>(
        'select external_id as id from workout where user_id = $1 order by start_at',
        [user.userId],
      )
      return rows.map(({ id }) => id).join(' ')
    }
    const without = (...gone: string[]) => all.filter(([id]) => !gone.includes(id))
    const week = 'oldest second third newest'
    const cases: [string, number, [string, number][], string | null, string][] = [
      ['nothing', 7, all, null, `alone before ${week}`],
      ['the newest', 7, without('newest'), null, 'alone before oldest second third'],
      ['the oldest', 7, without('oldest'), null, 'alone before second third newest'],
      ['one between', 7, without('second'), null, 'alone before oldest third newest'],
      ['all of a week', 7, [], null, 'alone before'],
      // Polar has no pages.
      ...(provider === 'polar' ? [] : [several(all.slice(1, 3), `alone before ${week}`)]),
      ['a month of which nothing is listed', 30, [], null, `alone before ${week}`],
    ]
    const wrong: string[] = []
    for (const [name, days, items, more, expected] of cases) {
      const user = await connectedUser(app, provider)
      await ask(user, 30, [...far, ...all])
      // By itself, an activity names its device: it becomes another source.
      if (provider === 'strava') await write(app, user, batchOf(provider, all.slice(1).map(detailed)))
      const left = await ask(user, days, items, more)
      if (left.replaceAll(/page\d+ /g, '') !== expected) wrong.push(`${name}: ${left}`)
    }
    t.strictSame(wrong, [], provider)
    if (provider === 'strava' || provider === 'polar') continue
    const complete = ['workout', 'sleep'].filter((name) => {
      const stream = cloudProviders.get(provider)?.streams?.find((one) => one.name === name)
      const window = { fromMs: ASKED - 7 * 24 * HOUR, untilMs: ASKED }
      const { args = null } = stream?.first(window, state(7)) ?? {}
      const body = { data: [], records: [], next_token: null }
      return batchOf(provider, [{ stream: name, at: utc(0), args, body }]).events.spans.length > 0
    })
    t.strictSame(complete, ['workout'], `${provider}: that no night is listed removes none`)
  }
})

// Polar cannot be asked for a week; but its list says nothing of what was uploaded before the consent.
const state = (days: number) => ({
  ...{ scope: null, zone: null, options: {}, isHistory: false, grantedMs: ASKED - days * 24 * HOUR },
})

const several = (items: [string, number][], left: string): [string, number, [string, number][], string, string] => [
  ...(['the first page of several', 7, items, 'x', left] as const),
]

oneEngine(t, 'how alert a night made somebody goes with the night', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const user = await connectedUser(app, 'polar')
  const told = (...days: number[]) =>
    write(
      app,
      user,
      batchOf('polar', [
        {
          ...{ stream: 'alertness', at: utc(0) },
          body: days.map((day) => ({
            ...{ grade: day, grade_type: 'GRADE_TYPE_PRIMARY', result_type: 'ALERTNESS_TYPE_HISTORY' },
            ...{ period_start_time: `2026-03-0${day}T06:00:00`, sleep_period_start_time: `2026-03-0${day}T01:00:00` },
          })),
        },
      ]),
    )
  await told(4, 5, 6)
  await told(4, 6)
  const left = await app.db.query<{ value: number }>('select value from health_score order by value')
  t.strictSame(
    left.map(({ value }) => value),
    [4, 6],
  )
})

oneEngine(t, 'what Oura tells of a date goes with its document', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const told: Record<string, object> = {
    daily_sleep: { score: 80 },
    daily_readiness: { score: 70, temperature_deviation: 0.1 },
    daily_activity: { score: 90, steps: 4_000 },
    daily_stress: { day_summary: 'normal' },
    daily_resilience: { level: 'solid' },
    daily_spo2: { spo2_percentage: { average: 97 }, breathing_disturbance_index: 3 },
    daily_cardiovascular_age: { vascular_age: 33 },
    vo2_max: { vo2_max: 40 },
  }
  const dates = ['2026-03-07', '2026-03-08', '2026-03-09']
  // The pull of the next day, of two days.
  const listed = (days: readonly string[]) =>
    Object.entries(told).map(([stream, fields]) => {
      const window = { fromMs: ASKED - 48 * HOUR, untilMs: ASKED }
      const { args = null } =
        cloudProviders
          .get('oura')
          ?.streams?.find(({ name }) => name === stream)
          ?.first(window, state(2)) ?? {}
      const data = days.map((day) => ({ id: `${stream} ${day}`, day, ...fields }))
      return { stream, at: utc(0), args, body: { data, next_token: null } }
    })
  const left = async (days: readonly string[]) => {
    const user = await connectedUser(app, 'oura')
    await write(app, user, batchOf('oura', listed(dates)))
    await write(app, user, batchOf('oura', listed(days)))
    const all = [
      ...(await lines(app, user)).map((line) => line.slice(0, 10)),
      ...(await scores(app, user)).map((one) => (one as unknown as { recorded_at: string }).recorded_at.slice(0, 10)),
    ]
    return dates.map((date) => all.filter((one) => one === date).length)
  }
  t.strictSame(await left(dates), [11, 11, 11])
  t.strictSame(await left(['2026-03-07', '2026-03-08']), [11, 11, 0], 'the newest')
  t.strictSame(await left(['2026-03-07', '2026-03-09']), [11, 0, 11], 'one between')
  t.strictSame(await left([]), [11, 11, 11], 'that nothing at all is listed says nothing')
})

/** A workout in the words of every provider. */
function started(id: string, hours: number) {
  const [start, end] = [utc(hours), utc(hours + 1)]
  const oura = { activity: 'running', start_datetime: start, end_datetime: end }
  const strava = { sport_type: 'Run', start_date: start, elapsed_time: 3_600 }
  const polar = { sport: 'RUNNING', start_time: start.slice(0, 19), start_time_utc_offset: 0, duration: 'PT1H' }
  const whoop = { sport_name: 'running', start, end, timezone_offset: 'Z', score_state: 'PENDING_SCORE' }
  return { id, ...oura, ...strava, ...polar, ...whoop, device: hours % 2 === 0 ? 'Polar Vantage V3' : 'Polar Pacer' }
}

const detailed = ([id, hours]: [string, number]) => {
  const body = { ...started(id, hours), device_name: hours % 2 === 0 ? 'Wahoo ELEMNT' : 'Garmin Forerunner 965' }
  return { stream: 'activities', at: utc(0), args: { of: 'detail' }, body }
}

/** The answer to a pull of so many days; `more`: there is a further page. */
function workoutsListed(provider: string, days: number, items: [string, number][], more: string | null) {
  const stream = cloudProviders.get(provider)?.streams?.find(({ family }) => family === 'workouts')
  const { args = null } = stream?.first({ fromMs: ASKED - days * 24 * HOUR, untilMs: ASKED }, state(days)) ?? {}
  const listed = items.map(([id, hours]) => started(id, hours)).sort((a, b) => (a.start < b.start ? -1 : 1))
  // Strava's pages do not say that they are the first of several: they are full.
  const full = more === null ? [] : Array.from({ length: 150 }, (_, n) => started(`page${n}`, -34.5 + n / 1_000))
  const list = provider === 'strava' ? [...listed.slice(0, 1), ...full, ...listed.slice(1)] : listed
  const body = { data: listed, records: [...listed].reverse(), next_token: more }
  const isList = provider === 'strava' || provider === 'polar'
  return { stream: stream?.name ?? '', at: utc(0), args, body: isList ? list : body }
}

const utc = (hours: number) => new Date(ASKED + hours * HOUR).toISOString()

const part = (hours: number, stream: string, data: object[]) => ({
  ...{ stream, at: utc(hours), body: { data, records: data, next_token: null } },
})

const answered = (app: TestApp, user: CloudUser, hours: number, stream: string, data: object[]) =>
  write(app, user, batchOf(user.provider, [part(hours, stream, data)]))

/** Samples as `instant series value`. */
const lines = async (app: TestApp, { userId }: CloudUser) =>
  (await storedSamples(app.db, userId)).map(({ ts, type, value }) => `${ts.slice(0, 16)}Z ${type} ${value}`).sort()

const scores = async (app: TestApp, { userId }: CloudUser): Promise<{ category: string }[]> => {
  const range = 'start_date=2026-03-01&end_date=2026-03-31'
  return (await app.request('GET', `/api/v1/users/${userId}/health-scores?${range}`)).body.data
}
