// What Garmin's connector makes of notices, addresses and consents; nights and quarters of an hour by another reckoning.
import fc from 'fast-check'
import t from 'tap'
import { storedSeries } from '../../server/catalogue/series.ts'
import { cloud, notices } from '../../server/providers/garmin/index.ts'
import { objects, streams } from '../../server/providers/garmin/streams.ts'
import { sports, workoutType } from '../../server/providers/garmin/workouts.ts'
import type { Keys, Notice } from '../../server/providers/notices.ts'
import type { Json } from '../../server/providers/part.ts'
import type { Answer, StreamState } from '../../server/providers/provider.ts'
import { openNotices } from '../../workers/notices.ts'
import { batchOf, rowsOf, type TestPart } from '../support/parcels.ts'
import { recorder } from '../support/provider-call.ts'
import { runs } from '../support/thorough.ts'

const AT = '2026-03-11T09:00:00Z'
const START = Date.UTC(2026, 2, 9, 23) / 1000
const REST = 'https://apis.garmin.com/wellness-api/rest'
const STATE: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: 0 }
const answer = (json: unknown, status = 200): Answer => ({ status, headers: {}, json })

const KEYS: Keys = { clientId: 'consumer', client: ['s'], own: {}, given: null, confirmed: [], more: {} }

t.test('a notice is believed if it names our application and came to our secret address', async (t) => {
  const own = { WEBHOOK_PATH_SECRET: 'unguessable' }
  const cases: [string, Record<string, string>, Record<string, string>, Keys['own'], string][] = [
    ['both', { 'garmin-client-id': 'consumer' }, { k: 'unguessable' }, own, 'signed'],
    ['no header', {}, { k: 'unguessable' }, own, 'refused'],
    ['another application', { 'garmin-client-id': 'other' }, { k: 'unguessable' }, own, 'refused'],
    ['an empty header', { 'garmin-client-id': '' }, { k: 'unguessable' }, own, 'refused'],
    ['no key', { 'garmin-client-id': 'consumer' }, {}, own, 'refused'],
    ['an empty key', { 'garmin-client-id': 'consumer' }, { k: '' }, own, 'refused'],
    ['another key', { 'garmin-client-id': 'consumer' }, { k: 'unguessablE' }, own, 'refused'],
    ['no key of ours', { 'garmin-client-id': 'consumer' }, { k: '' }, {}, 'refused'],
    ['an empty key of ours', { 'garmin-client-id': 'consumer' }, { k: '' }, { WEBHOOK_PATH_SECRET: '' }, 'refused'],
  ]
  const got = cases.map(([name, headers, query, own]) => [
    name,
    notices.verify({ body: Buffer.from('{}'), headers, query, nowSeconds: 0 }, { ...KEYS, own }),
  ])
  t.strictSame(
    got,
    cases.map(([name, , , , verdict]) => [name, verdict]),
  )
  t.equal(notices.challenge, undefined)
})

/** What a body says, read as the engine reads it. */
function open(json: unknown, wantsSamples = false): readonly Notice[] | 'malformed' {
  const bodies = [{ body: Buffer.from(JSON.stringify(json)), atMs: Date.parse(AT) }]
  return openNotices(notices, { bodies, subscriptionIds: [], wantsSamples })[0]!
}

const itemsOf = (notice: Notice): Json[] =>
  notice.kind === 'data' ? JSON.parse(Buffer.from(notice.body!).toString('utf8')) : []

/** A notice as one line. */
function line(notice: Notice): string {
  const { account, kind } = notice
  if (kind === 'data') return `${account} ${notice.stream} ${JSON.stringify(itemsOf(notice))}`
  if (kind === 'scope') return `${account} may ${notice.scope} since ${notice.atMs}`
  if (kind !== 'fetch' || notice.wish.kind !== 'object') return `${account} ${kind}`
  return `${account} asks ${objects[notice.wish.object]!.request(notice.wish.args, STATE)?.path}`
}

const lines = (json: unknown) => {
  const opened = open(json)
  return opened === 'malformed' ? opened : opened.map(line)
}

t.test('one body tells of several people, several types, data, addresses and consents', async (t) => {
  const body = {
    deregistrations: [{ userId: 'bert' }],
    dailies: [
      { userId: 'anna', userAccessToken: 'legacy', steps: 1 },
      { userId: 'bert', steps: 2 },
      null,
      { userId: 'anna', steps: 3 },
      { userId: 'a/../b', steps: 4 },
      { userId: 'nul\0', steps: 4 },
      { steps: 5 },
      7,
    ],
    pulseOx: [{ userId: 'anna', id: '9'.repeat(20) }],
    moveiq: [{ userId: 'anna' }],
    respiration: [{ userId: 'anna' }],
    menstrualCycleTracking: [{ userId: 'anna' }],
    sleeps: [
      { userId: 'anna', callbackURL: `${REST}/sleeps?uploadStartTimeInSeconds=1&uploadEndTimeInSeconds=2&token=T` },
    ],
    activityFiles: [{ userId: 'anna', fileType: 'FIT', callbackURL: `${REST}/activityFile?id=1&token=T` }],
    userPermissionsChange: [
      { userId: 'anna', permissions: ['HEALTH_EXPORT', 'ACTIVITY_EXPORT', 7, 'a b'], changeTimeInSeconds: 20 },
      { userId: 'anna', permissions: [], changeTimeInSeconds: '10' },
      { userId: 'anna', permissions: 'all', changeTimeInSeconds: 30 },
      { userId: 'anna', permissions: [] },
    ],
    somethingNew: [{ userId: 'anna' }],
    note: 'text',
  }
  t.strictSame(lines(body), [
    'anna dailies [{"userId":"anna","steps":1},{"userId":"anna","steps":3}]',
    'bert dailies [{"userId":"bert","steps":2}]',
    `anna pulseox [{"userId":"anna","id":"${'9'.repeat(20)}"}]`,
    'anna moveIQActivities [{"userId":"anna"}]',
    'anna allDayRespiration [{"userId":"anna"}]',
    'anna mct [{"userId":"anna"}]',
    `anna asks ${REST}/sleeps?uploadStartTimeInSeconds=1&uploadEndTimeInSeconds=2&token=T`,
    'anna may  since 10000',
    'anna may ACTIVITY_EXPORT HEALTH_EXPORT since 20000',
    'bert deauthorise',
  ])
  t.strictSame([{}, { dailies: [] }, { dailies: [{ steps: 1 }] }, { dailies: 'x' }, [], 'x', null].map(lines), [
    'malformed',
    [],
    'malformed',
    'malformed',
    'malformed',
    'malformed',
    'malformed',
  ])
})

t.test('what is recorded in workouts is carried only if somebody wants it', async (t) => {
  const detail = { userId: 'anna', activityId: 1, summary: {}, samples: [{ heartRate: 1 }], laps: [{}] }
  const [without] = open({ activityDetails: [detail] }) as Notice[]
  t.strictSame([without], [{ ...without, kind: 'data' }])
  t.strictSame(itemsOf(without!), [{ userId: 'anna', activityId: 1, summary: {} }])
  const [carried] = open({ activityDetails: [detail] }, true) as (Notice & { kind: 'data' })[]
  t.strictSame([carried!.args, itemsOf(carried!)], [{ samples: true }, [detail]])
  const url = `${REST}/activityDetails?token=T`
  const asked = (options: StreamState['options']) =>
    objects.activityDetails!.request({ url }, { ...STATE, options })!.args
  t.strictSame([asked({}), asked({ samples: true })], [undefined, { samples: true }])
})

t.test('only addresses of summaries are asked, once for what is the same', async (t) => {
  const wish = (callbackURL: string) => {
    const opened = open({ sleeps: [{ userId: 'anna', callbackURL }] }) as Notice[]
    return opened.map((one) => (one.kind === 'fetch' && one.wish.kind === 'object' ? one.wish : undefined))[0]
  }
  const refused = [
    'sleeps',
    `${REST}/user/id?token=T`,
    `${REST}/`,
    `${REST}/../../oauth/token`,
    `${REST}/%2e%2e/oauth`,
    'https://anna:x@apis.garmin.com/wellness-api/rest/sleeps',
    `${REST}/sleeps?token=T#x`,
    'file:///wellness-api/rest/sleeps',
    `${REST}/sleeps?token=${'T'.repeat(2_000)}`,
    '',
  ]
  t.strictSame(
    refused.filter((url) => wish(url) !== undefined),
    [],
  )
  const window = (token: string) => `${REST}/sleeps?uploadStartTimeInSeconds=1&uploadEndTimeInSeconds=2&token=${token}`
  const [one, again] = [wish(window('T')), wish(window('U'))]
  t.equal(one?.key, again?.key, 'another token')
  t.strictSame(again?.args, { url: window('U') })
  t.not(wish(`${REST}/sleeps?token=T`)?.key, wish(`${REST}/sleeps?token=U`)?.key, 'nothing else tells them apart')
  t.match(one?.key, /^[\w-]{43}$/)
  const pings = ['T', 'U'].map((token) => ({ userId: 'anna', callbackURL: window(token) }))
  t.equal((open({ sleeps: [...pings, { ...pings[0], userId: 'bert' }] }) as Notice[]).length, 2)
  t.strictSame(
    [{}, { url: 7 }, { url: 'https://evil.example/' }, null].map((args) => objects.sleeps!.request(args, STATE)),
    [null, null, null, null],
  )
})

t.test('nothing can be asked for by a span', async (t) => {
  t.strictSame(
    streams.filter(({ first, noticesOnly }) => !noticesOnly || first({ fromMs: 0, untilMs: 1 }, STATE) !== null),
    [],
  )
})

t.test('the account names itself, and says what its person permits', async (t) => {
  const oauth = cloud.oauth({ more: {} })
  const tokens = { access: 'a', accessSeconds: 1, refresh: 'r', scope: 'PARTNER_READ CONNECT_READ', answer: {} }
  const identified = async (...answers: Answer[]) => {
    const { call, asked } = recorder(answers, '')
    const identity = await oauth.identify(tokens, call).catch((error: Error) => error.message)
    const told = typeof identity === 'string' ? identity : [identity.id, identity.scope]
    return [told, asked.map(({ path }) => path.replace('/rest/user', ''))]
  }
  const id = answer({ userId: 'd3315b10-72a0' })
  t.strictSame(await identified(id, answer({ permissions: ['HEALTH_EXPORT', 'ACTIVITY_EXPORT'] })), [
    ['d3315b10-72a0', 'ACTIVITY_EXPORT HEALTH_EXPORT'],
    ['/wellness-api/id', '/wellness-api/permissions'],
  ])
  t.strictSame(await identified(answer('', 404), id, answer('', 404), answer(['MCT_EXPORT'])), [
    ['d3315b10-72a0', 'MCT_EXPORT'],
    ['/wellness-api/id', '/partner-gateway/id', '/wellness-api/permissions', '/partner-gateway/permissions'],
  ])
  t.strictSame((await identified(id, answer({ permissions: [] })))[0], ['d3315b10-72a0', ''], 'nothing is permitted')
  t.strictSame((await identified(id, answer(undefined, 500)))[0], ['d3315b10-72a0', null], 'not known')
  const nobody = await Promise.all(
    [{}, { userId: '../x' }, { userId: 7 }, undefined].map((json) => identified(answer(json))),
  )
  t.strictSame(
    nobody.map(([told]) => told),
    Array(4).fill('Garmin did not name the account (status 200)'),
  )
  const leaving = recorder([answer('', 404), answer('', 204)], '')
  await oauth.leave!({ id: 'x', username: null, zone: null, ref: 'r' }, leaving.call)
  t.strictSame(
    leaving.asked.map(({ method, path }) => `${method} ${path}`),
    ['DELETE /wellness-api/rest/user/registration', 'DELETE /partner-gateway/rest/user/registration'],
  )
})

t.test('names of activities, in any case, of their newer or their winter form', async (t) => {
  const names = sports.flatMap(([, ...own]) => own)
  t.equal(new Set(names).size, names.length, 'one type each')
  const cases: [string | undefined, string][] = [
    ['TRAIL_RUNNING', 'trail_running'],
    [' trail_running ', 'trail_running'],
    ['TENNIS_V2', 'tennis'],
    ['YOGA_WS', 'yoga'],
    ['SKATING_WS', 'ice_skating'],
    ['WHEELCHAIR_PUSH_RUN', 'wheelchair'],
    ['OTHER', 'generic'],
    ['QUIDDITCH_V2', 'other'],
    [undefined, 'other'],
  ]
  t.strictSame(
    cases.filter(([name, type]) => workoutType(name) !== type),
    [],
  )
})

const anyLevels = fc.array(
  fc.record({
    stage: fc.constantFrom('deep', 'light', 'rem', 'awake', 'unmeasurable'),
    from: fc.integer({ min: -30, max: 500 }),
    minutes: fc.integer({ min: 0, max: 120 }),
  }),
  { maxLength: 12 },
)

t.test('the stages of a night, minute by minute, and its end behind all of them', async (t) => {
  const property = fc.property(anyLevels, fc.integer({ min: 1, max: 480 }), (levels, asleep) => {
    const map: Record<string, object[]> = {}
    for (const { stage, from, minutes } of levels) {
      const level = { startTimeInSeconds: START + from * 60, endTimeInSeconds: START + (from + minutes) * 60 }
      map[stage] = [...(map[stage] ?? []), level]
    }
    const sleep = { summaryId: 's', startTimeInSeconds: START, durationInSeconds: asleep * 60, sleepLevelsMap: map }
    const [night] = batchOf('garmin', [{ stream: 'sleeps', at: AT, body: [sleep] }]).events.nights
    const known = levels.filter(({ stage, minutes }) => stage !== 'unmeasurable' && minutes > 0)
    const end = Math.max(asleep, ...known.map(({ from, minutes }) => from + minutes))
    // Of those that go on in a minute, the one that began first; of several, the one of the stage that is listed first.
    const order = ['deep', 'light', 'rem', 'awake']
    const sorted = known
      .map((one, place) => ({ ...one, place }))
      .sort((a, b) => a.from - b.from || order.indexOf(a.stage) - order.indexOf(b.stage) || a.place - b.place)
    const reached = (minute: number) =>
      sorted.find(({ from, minutes }) => from <= minute && minute < from + minutes)?.stage
    const stored = (minute: number) => {
      const ms = (START + minute * 60) * 1000
      return night?.stages?.find(([, lo, hi]) => lo <= ms && ms < hi)?.[0]
    }
    for (let minute = 0; minute < end; minute += 1) if (stored(minute) !== reached(minute)) return false
    return night?.endMs === (START + end * 60) * 1000
  })
  fc.assert(property, { seed: 17, numRuns: runs(150, 3_000) })
  t.pass()
})

const anyEpochs = fc.array(
  fc.record({ slot: fc.nat(3), way: fc.constantFrom('WALKING', 'SEDENTARY', 'RUNNING'), steps: fc.nat(900) }),
  { maxLength: 12 },
)

t.test('a quarter of an hour is the sum of what was done in it, each way once, as last told', async (t) => {
  const property = fc.property(anyEpochs, (epochs) => {
    const body = epochs.map(({ slot, way, steps }) => ({
      ...{ summaryId: `x-${slot}-${way.length}`, activityType: way, steps: steps % 2 ? String(steps) : steps },
      ...{ startTimeInSeconds: START + slot * 900, startTimeOffsetInSeconds: 20_700, durationInSeconds: 900 },
    }))
    const [columns] = batchOf('garmin', [{ stream: 'epochs', at: AT, body }]).samples
    const got = Array.from(columns?.timeMs ?? [], (ms, place) => [(ms / 1000 - START) / 900, columns!.value[place]])
    const expected = [0, 1, 2, 3].flatMap((slot) => {
      const own = epochs.filter((one) => one.slot === slot)
      const ways = [...new Set(own.map(({ way }) => way))]
      const last = ways.map((way) => own.findLast((one) => one.way === way)!.steps)
      return own.length === 0 ? [] : [[slot, last.reduce((sum, one) => sum + one, 0)]]
    })
    return JSON.stringify(got) === JSON.stringify(expected)
  })
  fc.assert(property, { seed: 17, numRuns: runs(150, 3_000) })
  t.pass()
})

/** Summaries of which none says anything else of the same time than another one. */
const anySummaries = fc.uniqueArray(
  fc.record({
    account: fc.constantFrom('anna', 'bert', 'cleo'),
    type: fc.constantFrom('dailies', 'sleeps', 'hrv', 'pulseOx', 'activities', 'stressDetails', 'bodyComps'),
    day: fc.nat(6),
    value: fc.integer({ min: 1, max: 90 }),
  }),
  { minLength: 1, maxLength: 30, selector: ({ account, type, day }) => `${account} ${type} ${day}` },
)

function summaryOf({ account, type, day, value }: { account: string; type: string; day: number; value: number }) {
  const start = START - (day + 1) * 86_400
  const common = {
    ...{ userId: account, summaryId: `${type}-${day}`, startTimeInSeconds: start, startTimeOffsetInSeconds: 3_600 },
    durationInSeconds: 3_600,
  }
  switch (type) {
    case 'dailies':
      return { ...common, steps: value, averageStressLevel: value, timeOffsetHeartRateSamples: { 15: value } }
    case 'sleeps':
      return { ...common, overallSleepScore: { value }, validation: 'AUTO_FINAL' }
    case 'hrv':
      return { ...common, lastNightAvg: value, hrvValues: { 300: value } }
    case 'pulseOx':
      return { ...common, timeOffsetSpo2Values: { 60: value } }
    case 'stressDetails':
      return { ...common, timeOffsetStressLevelValues: { 180: value }, timeOffsetBodyBatteryValues: { 0: value } }
    case 'bodyComps':
      return { ...common, measurementTimeInSeconds: start, weightInGrams: value * 1000 }
    default:
      return { ...common, activityId: day, activityType: 'RUNNING', averageHeartRateInBeatsPerMinute: value + 40 }
  }
}

/** The rows of each person, each once, in one order. */
function rowsByPerson(bodies: readonly object[]): string {
  const parts = new Map<string, TestPart[]>()
  for (const body of bodies) {
    for (const notice of open(body) as Notice[]) {
      if (notice.kind !== 'data') continue
      const part = { stream: notice.stream, at: AT, body: itemsOf(notice) }
      parts.set(notice.account, [...(parts.get(notice.account) ?? []), part])
    }
  }
  const people = [...parts].map(([account, own]) => {
    const { samples, ...events } = rowsOf(batchOf('garmin', own))
    const rows = [
      ...(samples as string[]),
      ...Object.values(events).flatMap((list) => (list as object[]).map((one) => JSON.stringify(one))),
    ]
    return [account, [...new Set(rows)].sort()]
  })
  return JSON.stringify(people.sort())
}

t.test('however summaries are put into bodies, mixed and repeated: everybody has the same rows', async (t) => {
  const property = fc.property(anySummaries, fc.array(fc.nat(5), { minLength: 1 }), (summaries, places) => {
    const [whole, mixed]: Record<string, object[]>[][] = [[{}], Array.from({ length: 6 }, () => ({}))]
    const put = (body: Record<string, object[]>, type: string, item: object) => {
      body[type] = [...(body[type] ?? []), item]
    }
    for (const [nth, summary] of summaries.entries()) {
      put(whole![0]!, summary.type, summaryOf(summary))
      for (const place of [places[nth % places.length]!, places[(nth * 3 + 1) % places.length]!])
        put(mixed![place]!, summary.type, summaryOf(summary))
    }
    return rowsByPerson(whole!) === rowsByPerson(mixed!.filter((body) => Object.keys(body).length > 0))
  })
  fc.assert(property, { seed: 17, numRuns: runs(100, 2_000) })
  t.pass()
})

t.test('the longer state of a day counts, in whatever order a body has them', async (t) => {
  const day = (seconds: number, steps: number) => ({
    ...{ summaryId: `d-${seconds}`, calendarDate: '2026-03-10', startTimeInSeconds: START },
    ...{ startTimeOffsetInSeconds: 3_600, durationInSeconds: seconds, steps },
  })
  const states = [day(3_600, 100), day(40_000, 5_000), day(86_400, 9_123)]
  const orders = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
    [2, 0, 1, 2],
  ]
  const totals = orders.map((order) => {
    const { samples } = batchOf('garmin', [{ stream: 'dailies', at: AT, body: order.map((place) => states[place]) }])
    return samples.map(({ seriesId, value }) => `${storedSeries(seriesId)?.series.type} ${[...value]}`)
  })
  t.strictSame(totals, Array(4).fill(['steps 9123']))
})

t.test('the past is asked for by type and range, and what answers mean', async (t) => {
  const { types, request, judge } = cloud.backfill!
  t.strictSame(
    [types.length, types.filter(({ stream }) => !streams.some(({ name }) => name === stream))],
    [16, []],
    'each is a stream',
  )
  t.equal(new Set(types.map(({ stream }) => stream)).size, 16)
  const { path, query } = request('pulseOx', { fromMs: 1_000_500, untilMs: 2_000_999 })
  t.strictSame(
    [path, query],
    ['/wellness-api/rest/backfill/pulseOx', { summaryStartTimeInSeconds: '1001', summaryEndTimeInSeconds: '2000' }],
    'never more than the range',
  )
  const refused = (errorMessage: string) => answer({ errorMessage }, 400)
  const cases: [Answer, unknown][] = [
    [answer(undefined, 202), 'asked'],
    [answer({ errorMessage: 'duplicate' }, 409), 'duplicate'],
    [refused('Endpoint not enabled for summary type'), 'disabled'],
    [refused('start 1770000000 is before min start time of 1770505200'), { earliestMs: 1_770_505_230_000 }],
    [refused('Minimum start time: 1770505200123'), { earliestMs: 1_770_505_230_123 }],
    [refused('min start time 2026-02-07T23:00:00Z'), { earliestMs: 1_770_505_230_000 }],
    [refused('start 1770000000 is wrong'), 'wrong'],
    [refused(''), 'wrong'],
    [answer('', 401), 'forbidden'],
    [answer('', 403), 'forbidden'],
    [answer('', 412), 'forbidden'],
    [answer('', 429), { later: true, afterSeconds: 60 }],
    [answer('', 503), { later: true, afterSeconds: null }],
    [answer('', 404), 'wrong'],
  ]
  t.strictSame(
    cases.map(([one]) => judge(one)),
    cases.map(([, expected]) => expected),
  )
})
