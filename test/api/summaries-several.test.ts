// What a person with several devices and apps sees: which source counts for what in the summaries of activity, sleep and
// recovery (contract 12.1, 12.3, 12.4, 12.6). Each case is a day written out, with the part of the row that it is about.
import t from 'tap'
import type { Database } from '../../server/db/database.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { createUser, oneEngine } from '../support/sdk.ts'
import { addSources, DAY_MS, dateText, MINUTE_MS, summary, write } from '../support/summaries.ts'

const DAY = Date.UTC(2026, 4, 4) / DAY_MS
const at = (hour: number, minute = 0) => DAY * DAY_MS + (hour * 60 + minute) * MINUTE_MS
const [RATE, RESTING, SDNN, VARIABILITY, SPO2, BREATH] = [1, 2, 3, 7, 20, 24]
const [STEPS, ENERGY, BASAL, DISTANCE] = [80, 81, 82, 100]
const [MANUAL, TOTAL] = [5_000, 10_000]

const WATCH = { provider: 'apple', device: 'Watch7,5', source: 'Watch', type: 'watch' }
const PHONE = { provider: 'apple', device: 'iPhone17,1', source: 'Phone', type: 'phone' }
const RING_APP = { provider: 'apple', device: '', source: 'Ring app', type: 'ring' }
const OTHER_APP = { provider: 'apple', device: '', source: 'Another ring app', type: 'ring' }
const SAMSUNG_WATCH = { provider: 'samsung', device: 'SM-L310', source: 'Samsung Health', type: 'watch' }
const SAMSUNG_PHONE = { provider: 'samsung', device: 'SM-S928B', source: 'Samsung Health', type: 'phone' }

type Sample = [series: number, ms: number, value: number, seconds?: number]
type Days = [source: typeof WATCH, samples: Sample[]][]

/** A value every five minutes from one hour to another. */
const every = (series: number, from: number, until: number, value: number): Sample[] =>
  Array.from({ length: (until - from) * 12 }, (_, n) => [series, at(from, n * 5), value])

interface Case {
  says: string
  days: Days
  /** The sleep of the first source: from 0:00 to 6:00. */
  slept?: boolean
  sleep?: object
  activity?: object
  /** With merge=none. */
  strict?: object
  recovery?: object
  /** By name of the source: its steps that count, those that do not, and how many of both were entered by hand. */
  explained?: Record<string, (number | null | undefined)[]>
}

const CASES: Case[] = [
  {
    says: 'a watch that sends only heart rates does not hide the hourly steps of its phone',
    days: [
      [SAMSUNG_WATCH, every(RATE, 8, 20, 70)],
      [SAMSUNG_PHONE, [8, 9, 17].map((hour): Sample => [STEPS, at(hour), 1_000, 3_600])],
    ],
    activity: {
      source: { device: 'SM-L310' },
      ...{ steps: 3_000, active_minutes: null, sedentary_minutes: null, heart_rate: { avg_bpm: 70 } },
    },
    explained: { 'SM-L310': [null, null], 'SM-S928B': [3_000, null] },
  },
  {
    says: 'an app without a device model ranks by its type: a ring is better than a phone, whoever writes for it',
    days: [
      [RING_APP, [[STEPS, at(8), 40]]],
      [
        PHONE,
        [
          [STEPS, at(8, 5), 500],
          [STEPS, at(9), 60],
        ],
      ],
    ],
    activity: { source: { source: 'Ring app' }, steps: 100 },
    explained: { 'Ring app': [40, null], Phone: [60, 500] },
  },
  {
    says: 'of two equal sources the one with more data counts, not the first in the alphabet',
    days: [
      [OTHER_APP, [[STEPS, at(8), 7]]],
      [
        RING_APP,
        [
          [STEPS, at(8, 1), 40],
          [STEPS, at(8, 2), 50],
        ],
      ],
    ],
    activity: { source: { source: 'Ring app' }, steps: 90 },
    explained: { 'Ring app': [90, null], 'Another ring app': [null, 7] },
  },
  {
    says: 'of a record of no steps only the minutes before the watch was put on count',
    days: [
      [WATCH, [[STEPS, at(9, 20), 10]]],
      [
        PHONE,
        [
          [STEPS, at(8), 600],
          [STEPS, at(9, 14), 0, 120],
        ],
      ],
    ],
    activity: { steps: 610, active_minutes: 1, sedentary_minutes: 2 },
  },
  {
    says: 'a mean of 96.65 is 96.7, in whatever order it is added up',
    days: [[WATCH, [93.6, 98.2, 96.6, 98.2].map((value, n): Sample => [SPO2, at(4, n), value])]],
    recovery: { avg_spo2_percent: 96.7 },
  },
  {
    says: 'what was typed in neither replaces nor adds to what was measured',
    days: [
      [WATCH, [[STEPS, at(8), 670]]],
      [PHONE, [[STEPS + MANUAL, at(8, 3), 30_000]]],
    ],
    activity: { source: { device_type: 'watch' }, steps: 670 },
    explained: { Watch: [670, null], Phone: [null, 30_000, null, 30_000] },
  },
  {
    says: 'where nothing was measured it counts',
    days: [
      [WATCH, [[STEPS, at(8), 670]]],
      [PHONE, [[STEPS + MANUAL, at(18), 4_000]]],
    ],
    activity: { steps: 4_670 },
    explained: { Watch: [670, null], Phone: [4_000, null, 4_000, null] },
  },
  {
    says: 'with merge=none it adds to what was measured, also within a minute',
    days: [
      [
        WATCH,
        [
          [STEPS, at(8), 20],
          [STEPS + MANUAL, at(8, 0.5), 20],
          [STEPS, at(9), 20],
          [RATE, at(8), 100],
          [RATE + MANUAL, at(8, 0.5), 180],
        ],
      ],
    ],
    strict: {
      ...{ steps: 60, active_minutes: 1, sedentary_minutes: 1 },
      intensity_minutes: { light: 0, moderate: 1, vigorous: 0 },
    },
  },
  {
    says: 'it never comes before a daily total',
    days: [
      [WATCH, [[STEPS + MANUAL, at(8), 30_000]]],
      [PHONE, [[STEPS + TOTAL, at(0), 5_000]]],
    ],
    activity: { source: { device_type: 'phone' }, steps: 5_000 },
    explained: { Watch: [null, 30_000, null, 30_000], Phone: [5_000, null] },
  },
  {
    says: 'the total of a phone stands for a day of which the watch saw less than half',
    days: [
      [WATCH, every(STEPS, 8, 9, 100)],
      [PHONE, [[STEPS + TOTAL, at(0), 9_000]]],
    ],
    activity: { source: { device_type: 'phone' }, steps: 9_000 },
    explained: { Watch: [null, 1_200], Phone: [9_000, null] },
  },
  {
    says: 'a total that is not twice as large counts for nothing',
    days: [
      [WATCH, every(STEPS, 8, 13, 100)],
      [PHONE, [[STEPS + TOTAL, at(0), 9_000]]],
    ],
    activity: { source: { device_type: 'watch' }, steps: 6_000 },
    explained: { Watch: [6_000, null], Phone: [null, 9_000] },
  },
  {
    says: 'the total of the best source replaces its samples, and others fill in what it did not see',
    days: [
      [
        WATCH,
        [
          [STEPS, at(8), 900],
          [STEPS + TOTAL, at(0), 1_000],
        ],
      ],
      [
        PHONE,
        [
          [STEPS, at(8, 5), 800],
          [STEPS, at(20), 300],
        ],
      ],
    ],
    activity: { steps: 1_300 },
    explained: { Watch: [1_000, 900], Phone: [300, 800] },
  },
  {
    says: 'all calories are unknown without those at rest, and sums have no noise',
    days: [
      [
        WATCH,
        [
          [ENERGY, at(8), 300.5],
          [DISTANCE, at(8), 0.1],
          [DISTANCE, at(9), 0.2],
        ],
      ],
    ],
    activity: { active_calories_kcal: 300.5, total_calories_kcal: null, distance_meters: 0.3 },
  },
  {
    says: 'calories at rest may be those of another source',
    days: [
      [WATCH, [[ENERGY, at(8), 0.1]]],
      [PHONE, [[BASAL + TOTAL, at(0), 1_500.2]]],
    ],
    activity: { active_calories_kcal: 0.1, total_calories_kcal: 1_500.3 },
  },
  {
    says: 'one reading of a watch at noon does not hide the resting heart rate and variability of a ring',
    days: [
      [WATCH, [[SPO2, at(12), 97]]],
      [
        RING_APP,
        [
          [RESTING, at(4), 52],
          [VARIABILITY, at(3), 61],
          [VARIABILITY, at(4), 63],
          [SPO2, at(4), 95],
        ],
      ],
    ],
    recovery: {
      source: { device_type: 'watch' },
      ...{ resting_heart_rate_bpm: 52, avg_hrv_rmssd_ms: 62, avg_spo2_percent: 97, avg_hrv_sdnn_ms: null },
    },
  },
  {
    says: 'what is known of a night is of the source of that night, not a mixture of all that wrote into one platform',
    slept: true,
    days: [
      [
        RING_APP,
        [
          [SDNN, at(3), 60],
          [RATE, at(3), 50],
        ],
      ],
      [
        WATCH,
        [
          ...[1, 2, 3, 4, 5].map((hour): Sample => [SDNN, at(hour, 1), 20]),
          ...every(RATE, 0, 6, 70),
          [BREATH, at(3), 14],
        ],
      ],
    ],
    sleep: {
      source: { source: 'Ring app' },
      ...{ avg_hrv_sdnn_ms: 60, avg_heart_rate_bpm: 50, avg_respiratory_rate: 14 },
    },
    recovery: { source: { source: 'Ring app' }, avg_hrv_sdnn_ms: 60 },
  },
  {
    says: 'what the source of a night did not measure is of the best one that did, which the row names',
    slept: true,
    days: [
      [RING_APP, []],
      [PHONE, every(SDNN, 0, 6, 90)],
      [WATCH, [[SDNN, at(3), 20]]],
    ],
    sleep: { source: { source: 'Ring app' }, avg_hrv_sdnn_ms: 20 },
    recovery: { source: { device_type: 'watch' }, avg_hrv_sdnn_ms: 20, sleep_duration_seconds: 21_600 },
  },
  {
    says: 'of two equal sources the one that measured more of the night counts',
    slept: true,
    days: [
      [WATCH, []],
      [OTHER_APP, [[SPO2, at(3), 91]]],
      [
        RING_APP,
        [
          [SPO2, at(2), 95],
          [SPO2, at(3), 97],
        ],
      ],
    ],
    sleep: { avg_spo2_percent: 96 },
    recovery: { source: { source: 'Ring app' }, avg_spo2_percent: 96 },
  },
  {
    says: 'other providers count where that of the night measured nothing',
    slept: true,
    days: [
      [PHONE, []],
      [RING_APP, [[SPO2, at(3), 95]]],
      [
        SAMSUNG_WATCH,
        [
          [SPO2, at(4), 91],
          [VARIABILITY, at(4), 48],
        ],
      ],
    ],
    sleep: { avg_spo2_percent: 95, avg_hrv_rmssd_ms: 48 },
    recovery: { source: { source: 'Ring app' }, avg_spo2_percent: 95, avg_hrv_rmssd_ms: 48 },
  },
  {
    says: 'what was typed in does not count beside what was measured in that night, by whomever',
    slept: true,
    days: [
      [
        RING_APP,
        [
          [SPO2, at(2), 96],
          [SPO2 + MANUAL, at(2, 5), 60],
          [SDNN + MANUAL, at(2), 200],
          [BREATH + MANUAL, at(2), 40],
        ],
      ],
      [
        SAMSUNG_WATCH,
        [
          [SDNN, at(4), 55],
          [BREATH, at(2), 13],
          [RATE, at(3), 52],
          [RATE + MANUAL, at(3, 1), 150],
        ],
      ],
    ],
    sleep: { avg_spo2_percent: 96, avg_hrv_sdnn_ms: 55, avg_respiratory_rate: 13, avg_heart_rate_bpm: 52 },
    recovery: { source: { source: 'Ring app' }, avg_spo2_percent: 96, avg_hrv_sdnn_ms: 55 },
  },
  {
    says: 'alone it counts in a night',
    slept: true,
    days: [
      [
        WATCH,
        [
          [SPO2 + MANUAL, at(2), 93],
          [RATE + MANUAL, at(2), 55],
        ],
      ],
    ],
    sleep: { avg_spo2_percent: 93, avg_heart_rate_bpm: 55 },
    recovery: { avg_spo2_percent: 93, resting_heart_rate_bpm: null },
  },
  {
    says: 'a resting heart rate is what was measured that day, whatever a better source was told',
    days: [
      [
        WATCH,
        [
          [RESTING, at(7), 50],
          [RESTING + MANUAL, at(9), 110],
          [SPO2 + MANUAL, at(9), 70],
        ],
      ],
      [PHONE, [[SPO2, at(12), 97]]],
    ],
    recovery: { source: { device_type: 'watch' }, resting_heart_rate_bpm: 50, avg_spo2_percent: 97 },
  },
  {
    says: 'a reading of the day comes before an entry in the night',
    slept: true,
    days: [
      [
        WATCH,
        [
          [SPO2 + MANUAL, at(2), 60],
          [SPO2, at(12), 97],
        ],
      ],
    ],
    sleep: { avg_spo2_percent: 60 },
    recovery: { avg_spo2_percent: 97 },
  },
  {
    says: 'entries alone make a day of recovery, those of the best source',
    days: [
      [PHONE, [[RESTING + MANUAL, at(7), 66]]],
      [
        WATCH,
        [
          [RESTING + MANUAL, at(7), 52],
          [VARIABILITY + MANUAL, at(8), 40],
        ],
      ],
    ],
    recovery: { source: { device_type: 'watch' }, resting_heart_rate_bpm: 52, avg_hrv_rmssd_ms: 40 },
  },
]

const addNight = (db: Database, user: string, sourceId: number) =>
  db.query(
    `insert into sleep (user_id, source_id, start_at, end_at, zone_offset_min, asleep_s, is_nap)
     values ($1, $2, to_timestamp($3), to_timestamp($4), 0, 21600, false)`,
    [user, sourceId, at(0) / 1000, at(6) / 1000],
  )

/** Walks that a better source knows next to nothing about. */
const TRACES: Case[] = [
  {
    says: 'a day-long record of ten steps does not hide a walk of 9,000',
    days: [
      [PHONE, [[STEPS, at(0), 10, 86_340]]],
      [SAMSUNG_PHONE, Array.from({ length: 9 }, (_, n): Sample => [STEPS, at(9 + n), 1_000, 600])],
    ],
    activity: { source: { provider: 'apple' }, steps: 9_009 },
  },
  {
    says: 'nor does a day-long record of 2,000, of which nobody knows when they were walked',
    days: [
      [PHONE, [[STEPS, at(0), 2_000, 86_340]]],
      [SAMSUNG_PHONE, Array.from({ length: 9 }, (_, n): Sample => [STEPS, at(9 + n), 1_000, 600])],
    ],
    activity: { steps: 10_812 },
  },
  {
    says: 'hours of one step each do not hide a walk of 9,000',
    days: [
      [PHONE, Array.from({ length: 24 }, (_, n): Sample => [STEPS, at(n), 1, 3_600])],
      [SAMSUNG_PHONE, Array.from({ length: 9 }, (_, n): Sample => [STEPS, at(9 + n), 1_000, 600])],
    ],
    activity: { steps: 9_022 },
  },
  {
    says: 'a watch on the table, whose hour has no steps, does not hide those of the phone',
    days: [
      [WATCH, [[STEPS, at(8), 0, 3_600]]],
      [PHONE, [[STEPS, at(8, 10), 5_000, 1_800]]],
    ],
    activity: { source: { device_type: 'watch' }, steps: 5_000 },
    explained: { Watch: [0, 0], Phone: [5_000, null] },
  },
  {
    says: 'an hour of few steps of the watch still comes before what was typed in',
    days: [
      [WATCH, [[STEPS, at(8), 3, 3_600]]],
      [PHONE, [[STEPS + MANUAL, at(8, 10), 5_000]]],
    ],
    activity: { steps: 3 },
  },
]

/** Two phones as good as each other, each with another local day at the border of two days: what they measured together. */
const MIDNIGHTS: { says: string; days: Days; zones?: number[]; steps: number }[] = [
  {
    says: 'a walk over midnight that one phone has as one record and the other by the minute counts once',
    days: [
      [
        { ...PHONE, device: 'iPhone12,1' },
        [[STEPS, at(23, 50), 600, 1_800], ...Array.from({ length: 30 }, (_, n): Sample => [STEPS, at(32, n), 10])],
      ],
      [PHONE, Array.from({ length: 30 }, (_, n): Sample => [STEPS, at(23, 50 + n), 20])],
    ],
    steps: 900,
  },
  {
    says: 'so do two writers of one phone, each with more samples than the other on one of the days',
    days: [
      [
        { ...SAMSUNG_PHONE, source: 'Fit' },
        [[STEPS, at(23, 40), 600, 1_800], ...[10, 11, 12].map((hour): Sample => [STEPS, at(hour), 10])],
      ],
      [
        SAMSUNG_PHONE,
        [
          [STEPS, at(23, 41), 400, 1_140],
          [STEPS, at(24), 200, 600],
          ...[34, 35, 36].map((hour): Sample => [STEPS, at(hour), 10]),
        ],
      ],
    ],
    steps: 660,
  },
  {
    says: 'a walk of an evening that one of them files under the next day counts once',
    zones: [120, 0],
    days: [
      [PHONE, [[STEPS, at(22, 31), 1_000, 600], ...[30, 31].map((hour): Sample => [STEPS, at(hour), 10])]],
      [
        { ...PHONE, source: 'Other' },
        [[STEPS, at(22, 32), 1_000, 600], ...[9, 10, 11].map((hour): Sample => [STEPS, at(hour), 10])],
      ],
    ],
    steps: 1_050,
  },
]

/** A user with samples of several sources, each in its zone, and if asked for with a night of the first one. */
async function person(app: TestApp, days: Days, { zones = [], slept = false }: { zones?: number[]; slept?: boolean }) {
  const user = await createUser(app)
  const ids = await addSources(
    app.db,
    user,
    days.map(([source]) => source),
  )
  if (slept) await addNight(app.db, user, ids[0] as number)
  const samples = days.flatMap(([, own], place) =>
    own.map(([seriesId, ms, value, lastsS = 0]) => ({
      ...{ sourceId: ids[place] as number, seriesId, ms, value, zone: zones[place] ?? 0, lastsS },
    })),
  )
  await write(app.db, user, samples)
  return user
}

oneEngine(t, 'several sources of one person', async (t, engine) => {
  const app = await startTestApp(t, engine)
  for (const { says, days, zones = [], steps } of MIDNIGHTS) {
    await t.test(says, async (t) => {
      const user = await person(app, days, { zones })
      const query = { start_date: dateText(DAY - 1), end_date: dateText(DAY + 2) }
      const { data } = (await summary(app, user, 'activity', query)).body
      const sum = data.reduce((all: number, row: { steps: number }) => all + row.steps, 0)
      t.equal(sum, steps)
    })
  }
  const query = { start_date: dateText(DAY), end_date: dateText(DAY) }
  for (const { says, days, slept = false, activity, strict, sleep, recovery, explained } of [...CASES, ...TRACES]) {
    await t.test(says, async (t) => {
      const user = await person(app, days, { slept })
      if (sleep) t.match((await summary(app, user, 'sleep', query)).body.data, [sleep])
      if (recovery) t.match((await summary(app, user, 'recovery', query)).body.data, [recovery])
      if (activity) t.match((await summary(app, user, 'activity', query)).body.data, [activity])
      if (strict) t.match((await summary(app, user, 'activity', { ...query, merge: 'none' })).body.data, [strict])
      if (!explained) return
      const [row] = (await summary(app, user, 'activity', { ...query, explain: true })).body.data
      type Told = Record<'counted' | 'dropped', { steps: number | null }>
      const found = row.sources.map((one: Told & { source: Record<string, string>; manual?: Told }) => {
        const name = explained[String(one.source.source)] ? one.source.source : one.source.device
        const manual = one.manual ? [one.manual.counted.steps, one.manual.dropped.steps] : []
        return [name, [one.counted.steps, one.dropped.steps, ...manual]]
      })
      t.strictSame(Object.fromEntries(found), explained)
    })
  }
})
