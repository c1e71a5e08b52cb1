// The stored sessions always match the stored stages, whatever uploads and deletions arrive, in any order.
import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t from 'tap'
import { type SleepStage, sleepStages } from '../../../server/batch/columns.ts'
import type { EventTarget } from '../../../server/store/event-items.ts'
import { type Session, sessionsOf } from '../../../server/store/sleep/sessions.ts'
import { deleteSleep, writeSleep } from '../../../server/store/sleep/sleep.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'
import { sleepVersions } from '../../support/sleep.ts'
import { runs } from '../../support/thorough.ts'

const MIN = 60_000
const START = Date.UTC(2026, 1, 20)
const SOURCES = 3

/** Stages of five days, often with the same ends, so many touch, overlap, repeat and leave gaps near the limits. */
const anyStage = fc
  .record({
    source: fc.nat(SOURCES - 1),
    stage: fc.constantFrom(...sleepStages),
    from: fc.nat(5 * 96),
    length: fc.constantFrom(1, 1, 2, 4, 8, 30, 96),
    session: fc.constantFrom('', '', '', '', 'a', 'b'),
    zoned: fc.nat(3),
    scored: fc.boolean(),
  })
  .map(({ source, stage, from, length, session, zoned, scored }): SleepStage => {
    const id = `${stage} ${from} ${length} ${session}`
    return {
      source,
      stage,
      session,
      externalId: zoned === 0 ? null : `${id} ${zoned}`,
      startMs: START + from * 15 * MIN,
      endMs: START + (from + length) * 15 * MIN,
      // The same interval always has the same content: the result of contradictions depends on the order.
      zoneMin: from % 3 === 0 ? null : ((from % 5) - 2) * 300,
      score: scored && length === 8 ? from % 100 : null,
      whole: false,
    }
  })
  .map((stage) => ({ ...stage, score: stage.endMs - stage.startMs === 120 * MIN ? 50 : null }))

const anySteps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ upload: fc.array(anyStage, { minLength: 1, maxLength: 12 }) }) },
    { weight: 1, arbitrary: fc.record({ remove: fc.nat(40) }) },
    { weight: 1, arbitrary: fc.record({ again: fc.nat(40) }) },
  ),
  { maxLength: 9 },
)

/** Three sources of a new user. */
async function createSources(app: TestApp): Promise<EventTarget & { sourceIds: number[] }> {
  const userId = await createUser(app)
  const rows = await app.db.query<{ id: number }>(
    `insert into data_source (user_id, provider, device_model, source)
     select $1, 'apple', 'device ' || n, '' from generate_series(1, $2::int) n returning id`,
    [userId, SOURCES],
  )
  return { userId, provider: 'apple', scope: 'live', sourceIds: rows.map(({ id }) => id) }
}

/** The sessions of a user as text, sources by position. */
async function stored(app: TestApp, userId: string, sourceIds: number[]): Promise<string[]> {
  const rows = await app.db.query<Record<string, unknown>>(
    `select s.source_id as source, s.session, date_part('epoch', s.start_at) as from, date_part('epoch', s.end_at) as until,
            s.zone_offset_min as zone, s.asleep_s, s.in_bed_s, s.awake_s, s.light_s, s.deep_s, s.rem_s,
            s.efficiency_percent as efficiency, s.is_nap as nap, s.covered, s.stages, h.value as score,
            date_part('epoch', h.recorded_at) as scored_at
     from sleep s left join health_score h on h.sleep_id = s.id
     where s.user_id = $1`,
    [userId],
  )
  return rows
    .map(({ source, ...row }) => JSON.stringify({ source: sourceIds.indexOf(source as number), ...row }))
    .sort()
}

/** The sessions that all stored stages form together. */
async function expected(app: TestApp, userId: string, sourceIds: number[]): Promise<string[]> {
  const stages = await app.db.query<Parameters<typeof sessionsOf>[0][number]>(
    `select s.source_id as "sourceId", s.session, s.stage, date_part('epoch', s.start_at) * 1000 as "startMs",
            date_part('epoch', s.end_at) * 1000 as "endMs", s.zone_offset_min as "zoneMin",
            s.external_id as "externalId", s.score
     from sleep_stage s join data_source d on d.id = s.source_id where d.user_id = $1`,
    [userId],
  )
  const sessions = sessionsOf(stages)
  const overlap = (one: Session, other: Session) => one.startMs < other.endMs && other.startMs < one.endMs
  const worth = (one: Session) =>
    [1e9 - (one.asleepS + (one.awakeS ?? 0)) * (one.lightS === null ? 1 : 2), 1e9 - one.asleepS, one.startMs, one.endMs]
      .map((part) => String(part).padStart(14, '0'))
      .join() + one.session
  const counting: Session[] = []
  const bestFirst = [...sessions].sort((a, b) => (worth(a) < worth(b) ? -1 : 1))
  for (const one of bestFirst) {
    const isRival = (other: Session) =>
      other.sourceId === one.sourceId && overlap(one, other) && Math.abs(other.endMs - one.endMs) < 1440 * MIN
    if (!counting.some(isRival)) counting.push(one)
  }
  const isCovered = (one: Session) => !counting.includes(one)
  const wall = (ms: number, zoneMin: number | null) => new Date(ms + (zoneMin ?? 0) * MIN).toISOString()
  const dayOf = ({ endMs, zoneMin }: Session) => wall(endMs, zoneMin).slice(0, 10)
  const isNap = (one: Session) => {
    const rivals = sessions.filter((other) => dayOf(other) === dayOf(one) && !isCovered(other))
    const most = Math.max(...rivals.map(({ asleepS }) => asleepS))
    const longest = rivals
      .filter(({ asleepS }) => asleepS === most)
      .sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs)[0]
    const hour = Number(wall(one.startMs, one.zoneMin).slice(11, 13))
    return one.asleepS < 3 * 3600 && hour >= 9 && hour < 20 && !(longest && overlap(one, longest))
  }
  return sessions
    .map((session) =>
      JSON.stringify({
        source: sourceIds.indexOf(session.sourceId),
        session: session.session,
        from: session.startMs / 1000,
        until: session.endMs / 1000,
        zone: session.zoneMin,
        asleep_s: session.asleepS,
        in_bed_s: session.inBedS,
        awake_s: session.awakeS,
        light_s: session.lightS,
        deep_s: session.deepS,
        rem_s: session.remS,
        efficiency: session.efficiencyPercent,
        nap: isNap(session),
        covered: isCovered(session),
        stages: session.stages.map(([stage, startMs, endMs]) => [stage, startMs / 1000, endMs / 1000]),
        score: session.score,
        scored_at: session.score === null ? null : session.startMs / 1000,
      }),
    )
    .sort()
}

const stageRows = (app: TestApp, { userId, sourceIds }: { userId: string; sourceIds: number[] }) =>
  app.db.query(
    `select array_position($2::int4[], s.source_id) as source, s.session, s.stage, s.start_at, s.end_at, s.zone_offset_min,
            array(select i from unnest(s.external_id || s.other_ids) i where i is not null order by i) as ids, s.score
     from sleep_stage s join data_source d on d.id = s.source_id where d.user_id = $1 order by 1, 2, 3, 4, 5`,
    [userId, sourceIds],
  )

oneEngine(t, 'sleep', async (t, engine) => {
  const app = await startTestApp(t, engine)

  await t.test('always follows from its stages', async (t) => {
    const property = fc.asyncProperty(anySteps, async (steps) => {
      const target = await createSources(app)
      const sent: SleepStage[] = []
      for (const step of steps) {
        await app.db.transaction(async (tx) => {
          if ('upload' in step) {
            sent.push(...step.upload)
            await writeSleep(tx, target, step.upload, false)
          } else if ('again' in step) {
            // The same upload once more, and a replay of it.
            await writeSleep(tx, target, sent.slice(step.again, step.again + 20), step.again % 2 === 0)
          } else {
            const { externalId, session } = sent[step.remove] ?? {}
            await deleteSleep(tx, target, [externalId ?? session ?? 'nothing'])
          }
        })
        const [is, should] = [stored, expected].map((read) => read(app, target.userId, target.sourceIds))
        t.strictSame(await is, await should)
      }
      return t.passing()
    })
    await t.resolves(fc.assert(property, { seed: 21, numRuns: runs(6, 120) }))
  })

  await t.test('is judged from end to end where sessions overlap in a chain', async (t) => {
    const target = await createSources(app)
    // Each ends 20 hours after the one before, and is better: every second one counts, from the last one on.
    const chain = Array.from({ length: 14 }, (_, n): SleepStage[] => {
      const endMs = START + n * 1200 * MIN
      const one = { source: 0, session: `${n}`, zoneMin: null, externalId: null, score: null, whole: false }
      return [{ ...one, stage: 'sleeping', startMs: endMs - (1201 + n) * MIN, endMs }]
    })
    const wrong: unknown[] = []
    const check = async (what: unknown) => {
      const [is, should] = [stored, expected].map((read) => read(app, target.userId, target.sourceIds))
      if (JSON.stringify(await is) !== JSON.stringify(await should)) wrong.push(what)
    }
    for (const [n, stages] of chain.entries()) {
      await app.db.transaction((tx) => writeSleep(tx, target, stages, false))
      await check(n)
    }
    for (const id of ['13', '5', '12']) {
      await app.db.transaction((tx) => deleteSleep(tx, target, [id]))
      await check(`without ${id}`)
    }
    t.strictSame(wrong, [])
    const { covered } = await app.db.one<{ covered: string }>(
      `select string_agg(session, ' ' order by end_at) filter (where covered) as covered from sleep where user_id = $1`,
      [target.userId],
    )
    t.equal(covered, '1 3 6 8 10')
  })

  await t.test('does not depend on how stages were divided and ordered', async (t) => {
    const property = fc.asyncProperty(
      fc.array(anyStage, { minLength: 2, maxLength: 40 }),
      fc.array(fc.nat(), { minLength: 80, maxLength: 80 }),
      async (stages, random) => {
        const [one, many] = [await createSources(app), await createSources(app)]
        const write = (target: typeof one, part: SleepStage[]) =>
          app.db.transaction((tx) => writeSleep(tx, target, part, false))
        const counts = await write(one, stages)
        const shuffled = stages
          .map((stage, place) => [random[place] as number, stage] as const)
          .sort(([a], [b]) => a - b)
          .map(([, stage]) => stage)
        for (let from = 0, turn = 40; from < shuffled.length; turn += 1) {
          const length = 1 + ((random[turn] as number) % 8)
          await write(many, shuffled.slice(from, from + length))
          from += length
        }
        t.strictSame(await stageRows(app, many), await stageRows(app, one))
        t.strictSame(await stored(app, many.userId, many.sourceIds), await stored(app, one.userId, one.sourceIds))
        const rows = (await stageRows(app, one)).length
        t.match(counts, { inserted: rows, updated: 0, unchanged: 0, duplicates: stages.length - rows })
        const versions = await sleepVersions(app.db, many.userId)
        t.match(await write(many, stages), { inserted: 0, updated: 0, unchanged: rows })
        t.strictSame(await sleepVersions(app.db, many.userId), versions)
        return t.passing()
      },
    )
    await t.resolves(fc.assert(property, { seed: 22, numRuns: runs(5, 80) }))
  })

  await t.test('that was stored before it was judged so is judged by the migration', async (t) => {
    const judge = await readFile(new URL('../../../sql/migrations/0092-counting-sessions.sql', import.meta.url), 'utf8')
    const targets = []
    for (const stages of fc.sample(fc.array(anyStage, { minLength: 10, maxLength: 40 }), {
      seed: 23,
      numRuns: runs(10, 80),
    })) {
      const target = await createSources(app)
      const given = stages.map((stage, n) => ({ ...stage, session: n % 3 === 0 ? `${n}` : stage.session }))
      await app.db.transaction((tx) => writeSleep(tx, target, given, false))
      targets.push(target)
    }
    await app.db.query('update sleep set is_nap = false, covered = false')
    await app.db.pool.query(judge)
    const failures = []
    for (const { userId, sourceIds } of targets) {
      const [is, should] = [await stored(app, userId, sourceIds), await expected(app, userId, sourceIds)]
      if (is.join() !== should.join()) failures.push({ is, should })
    }
    t.strictSame(failures, [])
    const [found] = await app.db.query(
      'select count(*) filter (where is_nap) as naps, count(*) filter (where covered) as covered from sleep',
    )
    t.match(found, { naps: /[1-9]/, covered: /[1-9]/ })
  })
})
