// merge=none: the answers from before merge=segments became the default, byte for byte. The service of that time wrote the
// file of answers, which is never rewritten: clients that ask for one source must keep getting the same.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { type SeriesName, seriesByName } from '../../server/catalogue/series.ts'
import { refreshRollups } from '../../server/rollups/refresh.ts'
import { startTestApp } from '../support/app.ts'
import { createUser, oneEngine } from '../support/sdk.ts'
import { addSources, DAY_MS, dateText, MINUTE_MS, seeded, summary, type Written, write } from '../support/summaries.ts'

const ANSWERS = new URL('../support/activity-merge-none.jsonl', import.meta.url)
const START = Date.UTC(2026, 3, 6)
const DAYS = 21

/** The source without a model came after every other of its provider, whatever its type. */
const SOURCES = [
  { provider: 'apple', device: 'iPhone17,1', source: 'Phone', type: 'phone' },
  { provider: 'apple', device: '', source: 'Ring app', type: 'ring' },
  { provider: 'garmin', device: 'Forerunner 255', source: 'garmin_connect_api', type: 'watch' },
  { provider: 'garmin', device: 'Edge 540', source: 'garmin_connect_api', type: 'watch' },
]
const idOf = (name: SeriesName) => seriesByName.get(name)?.id as number
const DAILY_TOTAL = 10_000
const MANUAL = 5_000

/** Three weeks of four sources, each of which is missing on some days. */
function weeks(ids: readonly number[]): Written[] {
  const random = seeded(20_261_122)
  const whole = (from: number, to: number) => from + Math.floor(random() * (to - from + 1))
  const samples: Written[] = []
  for (let day = 0; day < DAYS; day += 1) {
    for (const [place, sourceId] of ids.entries()) {
      if (random() < 0.35) continue
      const dayMs = START + day * DAY_MS
      const zone = [120, -300, null, 0][place] as number | null
      const add = (name: SeriesName, ms: number, value: number, daily = false) =>
        samples.push({ sourceId, seriesId: idOf(name) + (daily ? DAILY_TOTAL : 0), ms, value, zone })
      for (let walk = whole(1, 3); walk > 0; walk -= 1) {
        const walkMs = dayMs + whole(0, 1380) * MINUTE_MS
        for (let minute = whole(2, 20); minute > 0; minute -= 1) {
          const ms = walkMs + minute * MINUTE_MS
          if (place !== 1) add('steps', ms, whole(0, 900) / 8)
          if (random() < 0.5) add('heart_rate', ms, whole(55, 170))
          if (random() < 0.3) add('energy', ms, whole(1, 60) / 4)
        }
        if (random() < 0.4) add('flights_climbed', walkMs, whole(1, 9))
        if (random() < 0.3) add('active_time', walkMs, whole(1, 30))
      }
      // Two of them on a day: their sum is the same in any order of addition.
      if (random() < 0.7) add('distance_walking_running', dayMs + 12 * 60 * MINUTE_MS, 0.1)
      if (random() < 0.7) add('distance_walking_running', dayMs + 12 * 60 * MINUTE_MS + 1, 0.2)
      if (random() < 0.3) add('steps', dayMs, whole(100, 9000), true)
      if (random() < 0.4) add('basal_energy', dayMs, whole(1200, 1900) + 0.1, true)
    }
  }
  return samples
}

/** The same, with some values entered by hand and records with a length: neither changes anything. */
function otherwise(samples: readonly Written[]): Written[] {
  // The last value of an instant stays, even if only one of them was entered by hand.
  const last = new Map(samples.map((one) => [`${one.sourceId} ${one.seriesId} ${one.ms}`, one]))
  return [...last.values()].map((one, n) => {
    if (one.seriesId >= DAILY_TOTAL) return one
    return {
      ...one,
      seriesId: one.seriesId + (n % 7 === 0 ? MANUAL : 0),
      lastsS: one.seriesId === idOf('heart_rate') ? 0 : 900,
    }
  })
}

oneEngine(t, 'merge=none answers as it always did', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const wanted = readFileSync(ANSWERS, 'utf8').trimEnd().split('\n')
  for (const written of ['measured, at an instant', 'in part typed in, and lasting']) {
    const user = await createUser(app)
    const ids = await addSources(app.db, user, SOURCES)
    await write(app.db, user, written.startsWith('in part') ? otherwise(weeks(ids)) : weeks(ids))
    await app.db.query(
      `insert into workout (user_id, source_id, type, start_at, end_at, zone_offset_min, duration_s, elevation_gain_m)
       select $1, s, 'hiking', w.at, w.at + interval '2 hours', 60, 7200, n * 7
       from unnest($2::int4[]) with ordinality x (s, place), generate_series(1, 10) n,
            lateral (select to_timestamp($3) + (n * 41 + place * 13) * interval '1 hour' as at) w`,
      [user, ids, START / 1000],
    )
    for (const state of ['behind', 'up to date']) {
      if (state === 'up to date') while (await refreshRollups(app.db));
      const query = {
        start_date: dateText(START / DAY_MS - 1),
        end_date: dateText(START / DAY_MS + DAYS),
        merge: 'none',
      }
      const plain = (await summary(app, user, 'activity', query)).body.data
      const explained = (await summary(app, user, 'activity', { ...query, explain: true, sort_order: 'desc' })).body
        .data
      // The ids of sources are random.
      for (const { sources } of explained) for (const one of sources) one.data_source_id = one.source.source
      const rows = [...plain, ...explained].map((row) => JSON.stringify(row))
      t.strictSame(rows, wanted, `${written}, while rollups are ${state}`)
    }
  }
})
