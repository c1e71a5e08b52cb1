// What is received under several platform ids stays until the last of them is deleted, whatever kind of event it is.
import fc from 'fast-check'
import pg from 'pg'
import t from 'tap'
import type { Transaction } from '../../server/db/database.ts'
import { deleteMeals } from '../../server/store/meals.ts'
import { type HeldRow, MAX_IDS, resolveItems } from '../../server/store/platform-ids.ts'
import { readStagesById } from '../../server/store/sleep/stages.ts'
import { deleteWorkouts } from '../../server/store/workouts.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { allEvents, statistic, workout, workoutBody } from '../support/event-lists.ts'
import {
  body,
  createUser,
  heartRate,
  importBody,
  oneEngine,
  record,
  type SdkRecord,
  sharedApp,
  startImports,
  storedSamples,
} from '../support/sdk.ts'
import { stage } from '../support/sleep.ts'
import { runs } from '../support/thorough.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const HOUR_MS = 3_600_000

const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils

/** One thing of each kind as a platform sends it under an id, and how a reader counts what is stored of it. */
interface Kind {
  collection: 'records' | 'sleep' | 'workouts'
  item(id: string): SdkRecord
  /** Rows of a user ($1); a reader's id of each, where it has one. */
  stored: string
  /** Rows while it is there under one id, and under two; one unless given. */
  rows?: readonly [one: number, two: number]
}

const ofUser = 'source_id in (select id from data_source where user_id = $1)'
const kinds: Record<string, Kind> = {
  sample: {
    collection: 'records',
    item: (id) => heartRate(NOON, 60, { id }),
    stored: `select null as id from sample where ${ofUser} and series_id = 1`,
  },
  'stage of sleep': {
    collection: 'sleep',
    item: (id) => stage('deep', NOON, NOON + HOUR_MS, { id }),
    stored: `select id from sleep where ${ofUser} and session = ''`,
  },
  'stage of a session that the platform gives': {
    collection: 'sleep',
    item: (id) => stage('deep', NOON, NOON + HOUR_MS, { id, parentId: 'night' }),
    stored: `select id from sleep where ${ofUser} and session = 'night'`,
  },
  workout: {
    collection: 'workouts',
    item: (id) => workout('running', NOON, 30, { id }),
    stored: `select id from workout where ${ofUser}`,
  },
  'mindful session': {
    collection: 'records',
    item: (id) => record('HKCategoryTypeIdentifierMindfulSession', NOON, 0, { id, endDate: '2026-02-24T12:10:00Z' }),
    stored: `select id from activity where ${ofUser}`,
  },
  'day of flow': {
    collection: 'records',
    item: (id) => record('HKCategoryTypeIdentifierMenstrualFlow', NOON, 3, { id }),
    stored: `select id from menstrual_cycle where ${ofUser}`,
  },
  // Several may share an instant, so each id is one of its own.
  meal: {
    collection: 'records',
    item: (id) => record('HKCorrelationTypeIdentifierFood', NOON, 0, { id, metadata: { title: 'Soup' } }),
    stored: `select null as id from meal where ${ofUser}`,
    rows: [1, 2],
  },
}
const names = Object.keys(kinds)

/** What an upload brings and what it deletes: `x` and `y` are ids of the same thing. */
interface Step {
  items?: string[]
  deleted?: string[]
  /** The deletions are written before the items. */
  deletedFirst?: boolean
}

const steps = (...list: Step[]) => list
const histories: Record<string, Step[]> = {
  'x, then y, then x is deleted': steps({ items: ['x'] }, { items: ['y'] }, { deleted: ['x'] }),
  'x, then y, then y is deleted': steps({ items: ['x'] }, { items: ['y'] }, { deleted: ['y'] }),
  'x, then y with the deletion of x': steps({ items: ['x'] }, { items: ['y'], deleted: ['x'] }),
  'x, then the deletion of x with y': steps({ items: ['x'] }, { items: ['y'], deleted: ['x'], deletedFirst: true }),
  'both in one upload, then x is deleted': steps({ items: ['x', 'y'] }, { deleted: ['x'] }),
  'both in one upload, y first, then x is deleted': steps({ items: ['y', 'x'] }, { deleted: ['x'] }),
  'both and the deletion of x in one upload': steps({ items: ['x', 'y'], deleted: ['x'] }),
  'both and the deletion of x in one upload, y first': steps({ items: ['y', 'x'], deleted: ['x'] }),
  'both, again without any id, then x is deleted': steps({ items: ['x', 'y'] }, { items: [''] }, { deleted: ['x'] }),
  'both, again and again, then y is deleted': steps(
    { items: ['x', 'y'] },
    { items: ['y'] },
    { items: ['x'] },
    { items: ['y', 'x'] },
    { deleted: ['y'] },
  ),
}

/** Sends the items of some ids of every kind, and deletions. */
async function send(app: TestApp, user: string, { items = [], deleted = [], deletedFirst = false }: Step) {
  const of = (collection: string) =>
    names
      .filter((name) => kinds[name]?.collection === collection)
      .flatMap((name) => items.map((one) => kinds[name]?.item(one && `${name} ${one}`)))
      // A meal has an id.
      .filter((item) => item?.id || item?.type !== 'HKCorrelationTypeIdentifierFood')
  const data = { records: of('records'), sleep: of('sleep'), workouts: of('workouts') }
  const gone = { deleted: names.flatMap((name) => deleted.map((one) => ({ id: `${name} ${one}` }))) }
  return importBody(app, user, body([], { data: deletedFirst ? { ...gone, ...data } : { ...data, ...gone } }))
}

oneEngine(t, 'what was received under two ids', async (t, engine) => {
  const app = await sharedApp(engine)
  const storedOf = async (user: string) => {
    const rows = await Promise.all(names.map((name) => app.db.query<{ id: string }>(kinds[name]?.stored ?? '', [user])))
    return new Map(names.map((name, index) => [name, (rows[index] ?? []).map(({ id }) => id)]))
  }

  await t.test('is there until both are deleted, in any order, and keeps its id', async (t) => {
    const failures: string[] = []
    const all = Object.entries(histories).map(async ([history, sent]) => {
      const user = await createUser(app)
      let known: Map<string, string[]> | undefined
      const fail = (what: string) => failures.push(`${history}: ${what}`)
      for (const step of sent) {
        const { deleted } = await send(app, user, step)
        if (deleted !== (step.deleted?.length ?? 0) * names.length) fail(`${deleted} deleted`)
        const now = await storedOf(user)
        for (const [name, ids] of now) {
          if (ids.length === 0) fail(`no ${name} after ${JSON.stringify(step)}`)
          else if (!kinds[name]?.rows && (ids.length > 1 || (known && `${known.get(name)}` !== `${ids}`)))
            fail(`another ${name}`)
        }
        known = now
      }
      const left = sent.some(({ deleted }) => deleted?.includes('x')) ? 'y' : 'x'
      const { deleted } = await send(app, user, { deleted: [left] })
      if (deleted !== names.length) fail(`${deleted} deleted in the end`)
      for (const [name, ids] of await storedOf(user)) if (ids.length > 0) fail(`still a ${name}`)
    })
    await Promise.all(all)
    t.strictSame(failures, [])
  })

  await t.test('is unchanged when it comes under another id', async (t) => {
    const user = await createUser(app)
    const version = () => app.db.one<{ revision: number }>('select revision from app_user where id = $1', [user])
    await send(app, user, { items: ['x'] })
    const before = await version()
    // The meal is a new one.
    t.match(await send(app, user, { items: ['y'] }), { inserted: 1, updated: 0, unchanged: names.length - 1 })
    t.notSame(await version(), before)
    const after = await version()
    t.match(await send(app, user, { items: ['x', 'y'] }), { inserted: 0, updated: 0 })
    t.strictSame(await version(), after, 'what is known writes nothing')
  })

  await t.test('keeps the latest of very many ids', async (t) => {
    const user = await createUser(app)
    const many = Array.from({ length: MAX_IDS + 4 }, (_, n) => String(n))
    const withRows = names.filter((name) => name !== 'meal')
    const stored = async () => {
      const rows = await storedOf(user)
      return withRows.filter((name) => (rows.get(name) ?? []).length > 0)
    }
    await send(app, user, { items: many })
    t.match(await send(app, user, { items: many }), { inserted: 0, updated: 0 })
    // The meals are all known.
    t.match(await send(app, user, { deleted: many.slice(0, 4) }), { deleted: 4 })
    t.match(await send(app, user, { deleted: many.slice(4, -1) }), { deleted: (MAX_IDS - 1) * names.length })
    t.strictSame(await stored(), withRows)
    t.match(await send(app, user, { deleted: many.slice(-1) }), { deleted: names.length })
    t.strictSame(await stored(), [])
  })

  await t.test('a workout takes the samples along that came with the deleted id only', async (t) => {
    const user = await createUser(app)
    const run = (id: string, type: string) =>
      workout('running', NOON, 30, { id, values: [statistic(type, 40, type === 'vo2Max' ? 'mL/kg/min' : 'm')] })
    const types = async () => (await storedSamples(app.db, user)).map(({ type }) => type)
    await importBody(app, user, workoutBody([run('x', 'vo2Max')]))
    await importBody(app, user, workoutBody([run('y', 'vo2Max')]))
    await importBody(app, user, body([], { data: { deleted: [{ id: 'x', type: 'HKWorkoutTypeIdentifier' }] } }))
    t.strictSame(await types(), ['vo2_max'])
    await importBody(app, user, workoutBody([run('z', 'averageRunningStrideLength')]))
    t.strictSame((await types()).sort(), ['running_stride_length', 'vo2_max'])
    const [{ id }] = await allEvents(app, user, 'workouts')
    t.equal((await app.request('DELETE', `/api/v1/users/${user}/events/workouts/${id}`)).status, 204)
    t.strictSame(await types(), [], 'deleted by a developer, it takes along those of all its ids')
  })
})

oneEngine(t, 'a deletion looks up what it deletes, among years of it', async (t, engine) => {
  const app = await startTestApp(t, engine)
  await startImports(t, app)
  const userId = await createUser(app)
  await importBody(app, userId, body([heartRate(NOON, 60)]))
  const fill = (text: string) => app.db.query(`${text} from data_source d, generate_series(1, 5000) n`)
  const at = `timestamptz '2020-01-01' + n * interval '6 hours', timestamptz '2020-01-01' + (n * 6 + 1) * interval '1 hour'`
  await fill(`insert into sleep_stage (source_id, session, stage, start_at, end_at, external_id)
    select d.id, 'night ' || n / 40, 'light', ${at}, 'stage ' || n`)
  await fill(`insert into sleep (user_id, source_id, session, start_at, end_at)
    select d.user_id, d.id, 'night ' || n, ${at}`)
  await fill(`insert into workout (user_id, source_id, type, duration_s, start_at, end_at, external_id)
    select d.user_id, d.id, 'running', 3600, ${at}, 'run ' || n || '-s0'`)
  await fill(`insert into meal_nutrient (user_id, provider, source_id, series_id, value, with_meal, loose, ts, meal, item)
    select d.user_id, 'apple', d.id, 200, 1, true, false, timestamptz '2020-01-01' + n * interval '1 hour', 'meal ' || n, 'item ' || n`)
  await app.db.query('vacuum analyze')

  /** Pages that the statements of some work visit, with a plan for any parameters or for these, and the ids it found. */
  const visited = async (plan: 'force_generic_plan' | 'force_custom_plan', work: Work) => {
    let pages = 0
    let found: readonly string[] = []
    let statements = 0
    const rolledBack = app.db.transaction(async (tx) => {
      await tx.query(`set local plan_cache_mode = ${plan}`)
      const query = async (text: string, params: readonly unknown[] = []) => {
        const name = `of_${plan}_${statements++}`
        await tx.client.query(`prepare ${name} as ${text}`)
        const values = params.map((value) => pg.escapeLiteral(String(prepareValue(value))))
        const run = `execute ${name}${values.length > 0 ? `(${values.join(', ')})` : ''}`
        const { rows } = await tx.client.query(`explain (buffers, analyze, format json) ${run}`)
        const { Plan: root } = rows[0]['QUERY PLAN'][0]
        pages += root['Shared Hit Blocks'] + root['Shared Read Blocks']
        // An explained statement has done its work already.
        const left = /delete from|update /.test(text) ? [] : (await tx.client.query(run)).rows
        await tx.client.query(`deallocate ${name}`)
        return left
      }
      const client = { query: async (text: string, params: unknown[]) => ({ rows: await query(text, params) }) }
      found = await work({ ...tx, query, client } as unknown as Transaction)
      throw new Error('rolled back')
    })
    await rolledBack.catch((error: Error) => t.equal(error.message, 'rolled back'))
    return { pages, found }
  }
  const target = { userId, provider: 'apple', scope: null, sourceIds: [] }
  const stages = async (tx: Transaction, ids: string[]) =>
    (await readStagesById(tx, target, ids)).map(({ externalId }) => externalId ?? '')
  for (const plan of ['force_custom_plan', 'force_generic_plan'] as const) {
    const looked = {
      'a stage': await visited(plan, (tx) => stages(tx, ['stage 70'])),
      'a session': await visited(plan, (tx) => stages(tx, ['night 1'])),
      'parts of a workout': await visited(plan, (tx) => deleteWorkouts(tx, target, ['run 70'])),
      'an unknown id': await visited(plan, (tx) => deleteWorkouts(tx, target, ['unknown'])),
      'a nutrient': await visited(plan, (tx) => deleteMeals(tx, target, ['item 70'])),
    }
    const found = Object.values(looked).map(({ found }) => found.length)
    t.strictSame(found, [1, 40, 1, 0, 0], plan)
    // All rows of a user are on 60 pages and more.
    t.strictSame(
      Object.entries(looked).filter(([, { pages }]) => pages > 45),
      [],
    )
  }
})

/** Work in a transaction that returns ids. */
type Work = (tx: Transaction) => Promise<readonly string[]>

/** A history of items and deletions; `-1`: without an id. */
const anyHistory = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ id: fc.integer({ min: -1, max: 4 }), place: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.record({ deleted: fc.nat(4) }) },
  ),
  { maxLength: 14 },
)
type Event = { externalId: string | null; place: string }

t.test('items end in the same rows together as one by one, and no id is ever lost', async (t) => {
  const property = fc.property(
    anyHistory,
    fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }),
    (history, cuts) => {
      let rows: HeldRow[] = []
      let waiting: Event[] = []
      const expected = new Map<string, Set<string>>()
      const flush = () => {
        const { taken, relabelled, gone } = resolveItems(rows, waiting, ({ place }) => place)
        const now = new Map(rows.filter((row) => !gone.includes(row)).map((row) => [row.row, row]))
        for (const { row, place, ids } of [...taken, ...relabelled]) now.set(row, { row, place: place as string, ids })
        rows = [...now.values()]
        waiting = []
      }
      for (const [at, step] of history.entries()) {
        if ('deleted' in step) {
          flush()
          const without = rows.map((row) => ({ ...row, ids: row.ids.filter((id) => id !== `${step.deleted}`) }))
          rows = without.filter(({ ids }, place) => ids.length > 0 || rows[place]?.ids.length === 0)
          for (const [place, ids] of expected)
            if (ids.delete(`${step.deleted}`) && ids.size === 0) expected.delete(place)
          continue
        }
        const [externalId, place] = [step.id < 0 ? null : String(step.id), String(step.place)]
        waiting.push({ externalId, place })
        const here = expected.get(place) ?? new Set()
        for (const [other, ids] of expected)
          if (externalId !== null && ids !== here && ids.delete(externalId) && ids.size === 0) expected.delete(other)
        if (externalId !== null) here.add(externalId)
        expected.set(place, here)
        if (cuts[at]) flush()
      }
      flush()
      const asText = (entries: [string, Iterable<string>][]) =>
        entries.map(([place, ids]) => `${place}: ${[...ids].sort()}`).sort()
      const is = asText(rows.map(({ place, ids }) => [place, ids]))
      return `${is}` === `${asText([...expected])}` && new Set(rows.map(({ row }) => row)).size === rows.length
    },
  )
  t.doesNotThrow(() => fc.assert(property, { seed: 70, numRuns: runs(400, 5_000) }))
})
