// What is asked of Withings: changes, ranges, pages, nights by themselves; what its numbers mean, who has connected, how it
// notifies and is subscribed to, how a grant is ended.
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { Keys } from '../../server/providers/notices.ts'
import type { Json } from '../../server/providers/part.ts'
import type { Answer, OAuth, Request, StreamState } from '../../server/providers/provider.ts'
import { judge, openTokens, problem } from '../../server/providers/withings/envelope.ts'
import { cloud, notices } from '../../server/providers/withings/index.ts'
import { decimal } from '../../server/providers/withings/measures.ts'
import { fieldsOf } from '../../server/providers/withings/notices.ts'
import { objects, streams, workouts } from '../../server/providers/withings/streams.ts'
import { sports, workoutType } from '../../server/providers/withings/workouts.ts'
import { batchOf, rowsOf, type TestPart } from '../support/parcels.ts'
import { recorder } from '../support/provider-call.ts'
import { runs } from '../support/thorough.ts'

const DAY_MS = 86_400_000
const UNTIL = Date.UTC(2026, 2, 8, 10, 30)
const STATE: StreamState = { scope: null, zone: null, options: {}, isHistory: false, grantedMs: UNTIL }
const PULL: StreamState = { ...STATE, isPull: true }
const NOTICE: StreamState = { ...STATE, isNotice: true }
const answer = (json: unknown, status = 200, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  json,
})
const ok = (body: unknown) => answer({ status: 0, body })
const stream = (name: string) => streams.find((one) => one.name === name)!
const window = (days: number) => ({ fromMs: UNTIL - days * DAY_MS, untilMs: UNTIL })
const form = (request: Request | null | undefined) => ({
  ...request?.form,
  data_fields: undefined,
  meastypes: undefined,
})
const seconds = (ms: number) => String(ms / 1000)

t.test('a pull asks for what has changed; everything else asks for a range', async (t) => {
  const range = { startdate: seconds(UNTIL - 2 * DAY_MS), enddate: seconds(UNTIL) }
  const dates = { startdateymd: '2026-03-05', enddateymd: '2026-03-09' }
  const since = { lastupdate: seconds(UNTIL - 2 * DAY_MS) }
  const got = streams.flatMap(({ name, first }) =>
    [PULL, STATE, { ...STATE, isHistory: true }].map((state) => {
      const request = first(window(2), state)
      return [name, request && `${request.method} ${request.path}`, JSON.stringify(form(request))]
    }),
  )
  const asked = (name: string, path: string, ...forms: object[]) =>
    forms.map((one) => [name, `POST ${path}`, JSON.stringify(one)])
  t.strictSame(got, [
    ...asked(
      'measures',
      '/measure',
      { action: 'getmeas', category: '1', ...since },
      { action: 'getmeas', category: '1', ...range },
      { action: 'getmeas', category: '1', ...range },
    ),
    ...[
      ['activity', 'getactivity', '/v2/measure'],
      ['workouts', 'getworkouts', '/v2/measure'],
      ['sleep', 'getsummary', '/v2/sleep'],
    ].flatMap(([name = '', action, path = '']) =>
      asked(name, path, { action, ...since }, { action, ...dates }, { action, ...dates }),
    ),
    ...['stages', 'intraday'].flatMap((name) => Array(3).fill([name, null, '{}'])),
  ])
  t.ok(stream('measures').first(window(2), PULL)!.form!.meastypes!.split(',').includes('119'))
  const wanted = stream('intraday').first(window(1), { ...NOTICE, settings: { INTRADAY: 'true' } })!
  t.strictSame(form(wanted), {
    ...{ action: 'getintradayactivity', startdate: seconds(UNTIL - DAY_MS), enddate: seconds(UNTIL) },
    ...{ data_fields: undefined, meastypes: undefined },
  })
  t.equal(stream('intraday').first(window(1), { ...STATE, settings: { INTRADAY: 'false' } }), null)
  const withFields = ['activity', 'workouts', 'sleep'].map(stream)
  t.ok(
    withFields.every(({ first }) => first(window(1), PULL)!.form!.data_fields),
    'without them figures are missing',
  )
})

t.test('pages go on from the offset of the last one, and are not all that there is', async (t) => {
  const { first, next } = stream('measures')
  const asked = first({ fromMs: UNTIL - 120_000, untilMs: UNTIL }, NOTICE)!
  t.strictSame(asked.args, { listed: [UNTIL - 120_000, UNTIL], temperatures: true })
  const intraday = first({ fromMs: UNTIL - 120_000, untilMs: UNTIL }, { ...NOTICE, settings: { INTRADAY: 'true' } })!
  t.strictSame(intraday.args, { listed: [UNTIL - 120_000, UNTIL], temperatures: false })
  const longer = [first(window(2), NOTICE), first(window(1), PULL), first(window(0.1), STATE)]
  t.strictSame(
    longer.map((one) => one?.args),
    [undefined, undefined, undefined],
    'what is not listed may be out of the range, or of another time, or the membership has ended',
  )
  const more = next!(ok({ more: 1, offset: 300 }), asked)!
  t.strictSame([more.form, more.args], [{ ...asked.form, offset: '300' }, undefined])
  t.equal(next!(ok({ more: true, offset: 600 }), more)!.form!.offset, '600')
  const last = [{ more: 0, offset: 0 }, { more: false }, {}, { more: true }, { more: 1, offset: 'x' }, [], undefined]
  t.strictSame(
    last.map((body) => next!(ok(body), asked)),
    last.map(() => null),
  )
})

t.test('that nothing is new is not stored, that nothing is there is', async (t) => {
  const empty = { measures: 'measuregrps', activity: 'activities', workouts: 'series', sleep: 'series' }
  const got = Object.entries(empty).map(([name, list]) => {
    const { first, isEmpty } = stream(name)
    const asked = first(window(1), PULL)!
    const answers = [ok({ updatetime: 1, [list]: [] }), ok({ updatetime: 1, [list]: [{}] }), ok({}), ok([])]
    return [name, ...answers.map((one) => isEmpty!(one, asked))]
  })
  t.strictSame(
    got,
    Object.keys(empty).map((name) => [name, true, false, false, false]),
  )
  const { first, isEmpty } = stream('measures')
  const listed = first({ fromMs: UNTIL - 120_000, untilMs: UNTIL }, NOTICE)!
  t.equal(isEmpty!(ok({ measuregrps: [] }), listed), false, 'something was deleted')
})

const summary = (id: number | string, more: object = {}) => ({
  ...{ id, timezone: 'Europe/Paris', model: 32, model_id: 63, hash_deviceid: 'mat', completed: true },
  ...{
    startdate: 1772835000,
    enddate: 1772863200,
    modified: 1772864000,
    data: { total_sleep_time: 24900, hr_min: 49 },
  },
  ...more,
})

t.test('the stages of each night are asked for by itself, with what is known of it', async (t) => {
  const { follow, first } = stream('sleep')
  const listed = [
    summary(1),
    summary(2, { completed: false }),
    summary(3, { data: { asleepduration: 9000 } }),
    summary('../4'),
    summary(5, { startdate: null }),
    summary('9007199254740993', { timezone: 'Europe/\u0000', hash_deviceid: 'x'.repeat(80) }),
    null,
  ]
  const wishes = follow!(ok({ series: listed }), first(window(1), PULL)!, PULL)
  t.strictSame(
    wishes.map((wish) => wish.kind === 'object' && [wish.object, wish.key]),
    [
      ['night', '1'],
      ['night', '9007199254740993'],
    ],
  )
  const requests = wishes.map((wish) => (wish.kind === 'object' ? objects.night.request(wish.args, STATE) : null))
  t.strictSame(
    requests.map((one) => [one?.path, one?.form?.startdate, one?.form?.enddate]),
    Array(2).fill(['/v2/sleep', '1772835000', '1772863200']),
  )
  const night = (requests[0]!.args as { night: Json }).night
  t.strictSame(night, {
    ...{ id: '1', startdate: 1772835000, enddate: 1772863200, modified: 1772864000, timezone: 'Europe/Paris' },
    ...{ model: 32, model_id: 63, hash_deviceid: 'mat', data: { total_sleep_time: 24900, hr_min: 49 } },
  })
  t.match(requests[1]?.args, { night: { timezone: null, hash_deviceid: null } }, 'nothing that cannot be stored')
  const long = objects.night.request({ night: { ...(night as object), enddate: 1772935000 } }, STATE)
  t.equal(long?.form?.enddate, String(1772835000 + 86_400), 'at most a day')
  t.strictSame(
    [{}, null, { night: {} }, { night: summary('x') }].map((args) => objects.night.request(args as Json, STATE)),
    Array(4).fill(null),
  )
  const past: StreamState = { ...STATE, isHistory: true, grantedMs: 1772863200_000 + 31 * DAY_MS }
  t.strictSame(follow!(ok({ series: listed }), first(window(1), past)!, past), [], 'of the last 30 nights')
  t.equal(follow!(ok({ series: [] }), first(window(1), PULL)!, PULL).length, 0)
  const endless = ok({ series: Array.from({ length: 5_000 }, (_, id) => summary(id)) })
  t.equal(follow!(endless, first(window(1), PULL)!, PULL).length, 500, 'a page is no way to make work')
})

t.test('workouts are listed by their dates', async (t) => {
  const query = { window: window(1), limit: 50, options: {} }
  t.strictSame(form(workouts.list(query)), {
    ...{ action: 'getworkouts', startdateymd: '2026-03-06', enddateymd: '2026-03-09' },
    ...{ data_fields: undefined, meastypes: undefined },
  })
  t.equal(workouts.list({ ...query, options: { offset: 100 } }).form!.offset, '100')
  t.equal(workouts.one, undefined)
})

t.test('what the number in an answer means', async (t) => {
  const later = (afterSeconds: number | null, limited?: true) => ({
    ...{ later: true, afterSeconds, ...(limited && { limited }) },
  })
  const cases: [unknown, unknown][] = [
    ...[0].map((status): [unknown, unknown] => [status, undefined]),
    ...[100, 101, 102, 200, 401].map((status): [unknown, unknown] => [status, 'auth']),
    ...[214, 277, 2553, 2555].map((status): [unknown, unknown] => [status, 'denied']),
    ...[201, 213, 293, 294, 503, 511, 524, 532, 2554].map((status): [unknown, unknown] => [status, 'wrong']),
    [601, later(60, true)],
    ...[522, 215, 222, 1053, -1, 9999].map((status): [unknown, unknown] => [status, later(null)]),
    ...[undefined, null, '0', {}].map((status): [unknown, unknown] => [status, 'wrong']),
  ]
  t.strictSame(
    cases.map(([status]) => [status, judge(answer({ status, body: {} }))]),
    cases,
  )
  t.strictSame(
    [judge(answer(undefined, 503)), judge(answer({ status: 401 }, 429)), judge(answer([]))],
    [...[undefined, undefined], 'wrong'],
  )
  t.strictSame(
    [404, 410].map((status) => judge(answer('not found', status))),
    [later(null), later(null)],
    'a night whose details cannot be had now is not gone',
  )
  t.strictSame(
    [ok({}), answer({ status: 2555, error: 'Unauthorized' }), answer({ status: 601 }), answer({}, 500)].map(problem),
    [undefined, 'status 2555: Unauthorized', 'status 601', undefined],
  )
})

t.test('answers to token requests as RFC 6749 has them', async (t) => {
  const read = (json: unknown, status = 200) => {
    const opened = openTokens(answer(json, status))
    const error = (opened.json as { error?: string } | undefined)?.error
    return [opened.status, error ?? opened.json, opened.headers['retry-after']]
  }
  const body = { userid: '70012345', access_token: 'acc', refresh_token: 'ref', expires_in: 10800, scope: 'user.info' }
  t.strictSame(read({ status: 0, body }), [200, body, undefined])
  const dead = [100, 101, 102, 200, 401, 503].map((status) =>
    read({ status, body: {}, error: 'Invalid Params: invalid refresh_token' }),
  )
  t.strictSame(dead, Array(6).fill([400, 'invalid_grant', undefined]))
  t.strictSame(read({ status: 503, body: [], error: 'Invalid Params: invalid client_id' }), [
    400,
    'invalid_client',
    undefined,
  ])
  t.strictSame(
    read({ status: 503, error: 'Invalid Params: wrong client_secret' })[1],
    'invalid_client',
    'would end everybody',
  )
  t.strictSame(read({ status: 293, body: {} }), [400, 'invalid_request', undefined])
  t.strictSame(read({ status: 601, body: {} }), [429, 'temporarily_unavailable', '10'])
  t.strictSame(read({ status: 522, body: {} }), [503, 'temporarily_unavailable', '10'])
  t.strictSame([read('Bad gateway', 502)[0], read(undefined)[0]], [502, 200], 'by the status of HTTP')
})

const oauth: OAuth = cloud.oauth({ more: {} })

t.test('an account is named by its tokens, as a number or as text', async (t) => {
  const { call } = recorder([], '')
  const identify = (told: unknown) =>
    oauth.identify({ access: 'a', accessSeconds: 1, refresh: null, scope: null, answer: told }, call).then(
      ({ id }) => id,
      (error: Error) => error.message,
    )
  const cases = [
    { userid: 70012345 },
    { userid: '70012345' },
    { userid: '9007199254740993' },
    { userid: 'a/b' },
    {},
    null,
  ]
  const nobody = 'Withings did not name the account'
  t.strictSame(await Promise.all(cases.map(identify)), [
    ...['70012345', '70012345', '9007199254740993'],
    ...[nobody, nobody, nobody],
  ])
})

t.test('a grant is ended with a nonce, signed; else its notifications are, one by one', async (t) => {
  const account = { id: '70012345', username: null, zone: null, ref: '' }
  const sign = (text: string) => createHmac('sha256', 'secret').update(text).digest('hex')
  const leaving = async (answers: Answer[], who = account) => {
    const { call, asked } = recorder(answers, 'https://auth.example/v2/oauth2')
    const { status } = await oauth.leave!(who as typeof account, call)
    return [status, asked]
  }
  const nonce = {
    ...{ path: '/v2/signature', method: 'POST', as: 'nobody' },
    form: { action: 'getnonce', timestamp: '0', client_id: 'id', signature: sign('getnonce,id,0') },
  }
  const revoke = {
    ...{ path: 'https://auth.example/v2/oauth2', method: 'POST', as: 'nobody' },
    form: { action: 'revoke', nonce: 'n1', client_id: 'id', userid: '70012345', signature: sign('revoke,id,n1') },
  }
  t.strictSame(await leaving([ok({ nonce: 'n1' }), ok({})]), [200, [nonce, revoke]])
  const notify = (fields: object) => ({ path: '/notify', method: 'POST', form: fields })
  const profiles = ok({ profiles: [{ appli: 1, callbackurl: 'https://us/x?token=s' }, { appli: 'x' }] })
  const one = notify({ action: 'revoke', callbackurl: 'https://us/x?token=s', appli: '1' })
  const list = notify({ action: 'list' })
  t.strictSame(await leaving([ok({ nonce: 'n1' }), answer({ status: 2555 }), profiles, answer({ status: 294 })]), [
    ...[200, [nonce, revoke, list, one]],
  ])
  t.strictSame(await leaving([answer({ status: 503 }), ok({ profiles: [] })]), [200, [nonce, list]])
  t.strictSame(await leaving([ok({ profiles: [] })], { ...account, id: null as never }), [200, [list]])
  const ended = await leaving([answer({ status: 503 }), answer({ status: 401 })])
  const again = [
    await leaving([answer({ status: 503 }), answer({ status: 601 })]),
    await leaving([answer(undefined, 502), answer(undefined, 502)]),
  ]
  t.strictSame([ended[0], ...again.map(([status]) => status)], [401, 503, 502])
})

const KEYS: Keys = {
  ...{ clientId: 'id', client: ['s'], own: { WEBHOOK_TOKEN: 'unguessable' }, given: null, confirmed: [], more: {} },
}

t.test('a notice is believed if it came to our secret address', async (t) => {
  const verdict = (body: string, query: Record<string, string>, keys = KEYS) =>
    notices.verify({ body: Buffer.from(body), headers: {}, query, nowSeconds: 0 }, keys)
  const body = 'userid=70012345&appli=1'
  t.equal(verdict(body, { token: 'unguessable' }), 'signed')
  t.equal(verdict(`${body}&token=unguessable`, {}), 'signed', 'where the fields of the address are repeated')
  const wrong: [string, Record<string, string>, Keys?][] = [
    [body, {}],
    [body, { token: '' }],
    [body, { token: 'unguessabl' }],
    [body, { token: 'Unguessable' }],
    [body, { k: 'unguessable' }],
    [`${body}&token=`, {}],
    [body, { token: '' }, { ...KEYS, own: {} }],
    [body, { token: '' }, { ...KEYS, own: { WEBHOOK_TOKEN: '' } }],
    [body, { token: 'unguessable' }, { ...KEYS, own: {} }],
    ['token=undefined', { token: 'undefined' }, { ...KEYS, own: {} }],
  ]
  t.strictSame(
    wrong.map(([text, query, keys]) => verdict(text, query, keys)),
    wrong.map(() => 'refused'),
  )
  t.strictSame(notices.challenge!({}, KEYS), { status: 200, json: { status: 'ok' } })
})

const AT = Date.UTC(2026, 2, 10, 12)

t.test('what notices lead to', async (t) => {
  const open = (body: string) => {
    const opened = notices.open({
      ...{ body: Buffer.from(body), json: undefined, atMs: AT, subscriptionIds: [], wantsSamples: false },
    })
    if (opened === 'malformed') return opened
    return opened.map((one) => {
      const wish = one.kind === 'fetch' && one.wish.kind === 'span' ? one.wish : undefined
      const span =
        wish && [wish.window.fromMs, wish.window.untilMs].map((ms) => new Date(ms).toISOString().slice(0, 19))
      return [one.account, one.kind, ...(wish ? [wish.stream, ...(span ?? [])] : [])].join(' ')
    })
  }
  const weighed = '70012345 fetch measures 2026-03-07T06:59:00 2026-03-07T07:01:01'
  const of = (appli: number, more = '') => `userid=70012345&appli=${appli}${more}`
  const range = '&startdate=1772866800&enddate=1772866801'
  const recent = '2026-03-08T12:00:00 2026-03-10T12:00:00'
  const cases: [string, unknown][] = [
    ...[1, 2, 4, 58].map((appli): [string, unknown] => [of(appli, range), [weighed]]),
    [
      of(16, '&date=2026-03-07'),
      [
        '70012345 fetch activity 2026-03-06T23:59:00 2026-03-08T00:01:00',
        '70012345 fetch workouts 2026-03-06T23:59:00 2026-03-08T00:01:00',
      ],
    ],
    [
      of(44, '&startdate=1772835000&enddate=1772863200'),
      ['70012345 fetch sleep 2026-03-06T22:09:00 2026-03-07T06:01:00'],
    ],
    [of(1), [`70012345 fetch measures ${recent}`]],
    [of(1, '&startdate=1772866801&enddate=1772866800'), [`70012345 fetch measures ${recent}`]],
    [of(1, '&startdate=99999999999&enddate=99999999999'), [`70012345 fetch measures ${recent}`]],
    [
      of(1, '&startdate=1772866800&enddate=99999999999'),
      ['70012345 fetch measures 2026-03-07T06:59:00 2026-03-11T12:01:00'],
    ],
    [of(62, '&date=1772834900'), ['70012345 fetch intraday 2026-03-06T22:07:20 2026-03-06T22:09:20']],
    [of(46, '&action=unlink'), ['70012345 deauthorise']],
    [of(46, '&action=delete'), ['70012345 deauthorise']],
    [of(46, '&action=update'), []],
    ...[50, 51, 52, 53, 54, 55, 60, 61, 63, 98, 777].map((appli): [string, unknown] => [
      of(appli, '&date=1772834900'),
      [],
    ]),
    ['', []],
    ['userid=70012345', 'malformed'],
    ['appli=1', 'malformed'],
    ['userid=../x&appli=1', 'malformed'],
    ['userid=70012345&appli=1.5', 'malformed'],
    ['{"userid":70012345,"appli":1}', 'malformed'],
  ]
  t.strictSame(
    cases.map(([body]) => [body, open(body)]),
    cases,
  )
})

t.test('a form is read in either of its forms', async (t) => {
  const parts = (...fields: [string, string][]) =>
    `${fields.map(([name, value]) => `--xYz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join('')}--xYz--\r\n`
  const read = (text: string) => Object.fromEntries(fieldsOf(Buffer.from(text)))
  const fields: [string, string][] = [
    ['userid', '7'],
    ['token', 'a-b=c'],
    ['note', 'two\r\nlines'],
  ]
  t.strictSame(read(parts(...fields)), Object.fromEntries(fields))
  t.strictSame(read('userid=7&token=a-b%3Dc&userid=8'), { userid: '8', token: 'a-b=c' })
  const nothing = ['--', '--x\r\n--x--', `--${'\n'.repeat(1_000)}`]
  t.strictSame(
    nothing.map(read),
    nothing.map(() => ({})),
  )
})

t.test('each account is subscribed to, as far as its person permits', async (t) => {
  const calls = notices.accountSubscriptions!({ settings: {} as never, own: KEYS.own })
  const wanted = (...scope: string[]) => calls.wanted(new Set(scope)).join(' ')
  t.strictSame(
    [calls.wanted(null).join(' '), wanted('user.metrics'), wanted('user.activity', 'user.info'), wanted()],
    ['1 2 4 16 44 46 58', '1 2 4 58', '16 44 46', ''],
  )
  const url = calls.address('https://api.example.org/api/v1/providers/x/webhooks')
  t.equal(url, 'https://api.example.org/api/v1/providers/x/webhooks?token=unguessable')
  const form = (action: string, more = {}) => ({ path: '/notify', method: 'POST', form: { action, ...more } })
  t.strictSame(
    [calls.list(), calls.create({ of: '1', url }), calls.remove({ of: '1', url })],
    [
      form('list'),
      form('subscribe', { callbackurl: url, appli: '1', comment: 'pulsebase' }),
      form('revoke', { callbackurl: url, appli: '1' }),
    ],
  )
  const profiles = [
    { appli: 1, expires: 2147483647, callbackurl: url },
    { appli: '44', callbackurl: url },
    { appli: 4 },
    null,
  ]
  t.strictSame(calls.read(ok({ profiles })), [
    { of: '1', url },
    { of: '44', url },
  ])
  t.strictSame([calls.read(ok([])), calls.read(ok({})), calls.read(answer(undefined))], [[], [], []])
})

t.test('values are what is written, to the last digit', async (t) => {
  const property = fc.property(
    fc.integer({ min: 1, max: 10_000_000 }),
    fc.integer({ min: 0, max: 8 }),
    (value, places) => {
      // The decimal point, put in by hand.
      const digits = String(value).padStart(places + 1, '0')
      const text = places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
      return decimal(value, -places) === Number(text)
    },
  )
  fc.assert(property, { seed: 18, numRuns: runs(500, 20_000) })
  t.strictSame(
    [decimal(78250, -3), decimal(18, 1), decimal(1e21, -1), decimal(1, 400)],
    [78.25, 180, undefined, undefined],
  )
})

const night = (id: number, endMinutes: number) =>
  summary(id, { enddate: 1772863200 + endMinutes * 60, modified: 1772864000 + endMinutes * 60 })
const detailOf = (id: number, endMinutes: number): TestPart => {
  const { follow, first } = stream('sleep')
  const [wish] = follow!(ok({ series: [night(id, endMinutes)] }), first(window(1), PULL)!, PULL)
  const args = wish?.kind === 'object' ? objects.night.request(wish.args, STATE)!.args! : null
  const series = [{ startdate: 1772835000, enddate: 1772836200, state: 0, model_id: 63, hr: { 1772835060: 60 } }]
  return { stream: 'stages', at: '2026-03-08T12:00:00Z', args, body: { status: 0, body: { series } } }
}

t.test('however nights are listed and asked for, those with stages stay, and the last revision counts', async (t) => {
  // The store keeps of one id the higher rank, then the later version.
  const parts = [
    { stream: 'sleep', at: '2026-03-08T12:00:00Z', body: { status: 0, body: { series: [night(1, 0)] } } },
    detailOf(1, 0),
    { stream: 'sleep', at: '2026-03-08T12:00:00Z', body: { status: 0, body: { series: [night(1, 30)] } } },
    detailOf(1, 30),
  ]
  const best = (order: readonly TestPart[]) => {
    const { nights, samples } = {
      nights: batchOf('withings', order).events.nights,
      samples: batchOf('withings', order).samples,
    }
    const [last] = nights.toSorted((a, b) => b.rank - a.rank || (b.version ?? 0) - (a.version ?? 0))
    return [
      last?.rank,
      last?.endMs,
      last?.stages?.length,
      samples.filter(({ once }) => once).map(({ timeMs }) => timeMs.length),
    ]
  }
  const property = fc.property(fc.shuffledSubarray(parts, { minLength: 4 }), (order) => {
    return JSON.stringify(best(order)) === JSON.stringify([1, (1772863200 + 1800) * 1000, 1, [1]])
  })
  fc.assert(property, { seed: 18, numRuns: 24 })
  const detail = rowsOf(batchOf('withings', [detailOf(1, 30)])) as { samples: string[] }
  t.ok(detail.samples.some((one) => one === 'resting_heart_rate 2026-03-07T06:30:00Z 49 60'))
})

/** A stream, the list of its answers, and the items on it. */
type Kind = [name: string, list: string, of: (id: number) => object]

const group = (id: number) => ({
  ...{
    grpid: id,
    attrib: 0,
    date: 1772866800 + id * 600,
    category: 1,
    modelid: id % 2 === 0 ? 5 : 45,
    timezone: 'Europe/Paris',
  },
  measures: [
    { value: 70_000 + id, type: 1, unit: -3 },
    { value: 60 + id, type: 11, unit: 0 },
  ],
})
const session = (id: number) => ({
  ...{ id, category: 2, timezone: 'Europe/Paris', model: 93, attrib: 7, startdate: 1772866800 + id * 4_000 },
  ...{ enddate: 1772869000 + id * 4_000, modified: 1772903500, data: { calories: 100 + id } },
})
const dayOf = (id: number) => ({
  date: `2026-03-0${id}`,
  timezone: 'Europe/Paris',
  brand: 1,
  modelid: 93,
  steps: id * 1_000,
})

t.test(
  'however items are put on pages and pages into parcels, in whatever order, and repeated: the rows are the same',
  async (t) => {
    const ids = [1, 2, 3, 4, 5, 6]
    const kinds: readonly Kind[] = [
      ['measures', 'measuregrps', group],
      ['workouts', 'series', session],
      ['activity', 'activities', dayOf],
    ] as const
    const page = ([name, list, of]: (typeof kinds)[number], items: readonly number[]): TestPart => ({
      ...{ stream: name, at: '2026-03-08T12:00:00Z' },
      body: { status: 0, body: { [list]: items.map((id) => of(id)) } },
    })
    const rows = (parts: readonly TestPart[]) => {
      const { sources, samples, workouts: found } = rowsOf(batchOf('withings', parts)) as Record<string, unknown[]>
      // Of a workout that comes twice the later one is stored.
      const once = new Map((found as { externalId: string }[] | undefined)?.map((one) => [one.externalId, one]))
      return JSON.stringify([sources?.toSorted(), samples?.toSorted(), [...once].sort(([a], [b]) => (a < b ? -1 : 1))])
    }
    const property = fc.property(
      fc.constantFrom(...kinds),
      fc.shuffledSubarray(ids, { minLength: ids.length }),
      fc.array(fc.subarray(ids, { minLength: 1 }), { maxLength: 3 }),
      fc.integer({ min: 1, max: 5 }),
      (kind, order, repeated, cut) => {
        const parts = [...repeated, order.slice(0, cut), order.slice(cut)].map((items) => page(kind, items))
        return rows(parts) === rows([page(kind, ids)])
      },
    )
    fc.assert(property, { seed: 18, numRuns: runs(60, 3_000) })
    t.pass()
  },
)

t.test('categories of workouts', async (t) => {
  const ids = sports.flatMap(([, ...own]) => own.map(([id]) => id))
  const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, place) => first + place)
  const known = [
    ...range(1, 36),
    187,
    188,
    ...range(191, 196),
    272,
    306,
    307,
    308,
    ...range(455, 457),
    ...range(490, 568),
  ]
  t.strictSame(
    ids.toSorted((a, b) => a - b),
    known.filter((id) => id !== 533),
    'each once',
  )
  t.strictSame([1, 187, 191, 22, 533, 128, undefined].map(workoutType), [
    ...['walking', 'rowing', 'baseball', 'american_football', 'other', 'other', 'other'],
  ])
})
