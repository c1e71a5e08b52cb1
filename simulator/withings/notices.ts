import type { Reply } from '../http.ts'
import type { Notice, Notices, Stretch, SubscriptionCall } from '../notices/notices.ts'
import { isAddress, type Subscription } from '../notices/subscriptions.ts'
import { secretOf } from '../random.ts'
import { type Change, changesOf } from '../truth/changes.ts'
import { bloodPressureOf, gathered, glucoseOf, learned, spotOxygenOf, temperatureOf } from '../truth/measurements.ts'
import type { Person } from '../truth/person.ts'
import { dateOf } from '../zones.ts'
import { seconds } from './devices.ts'
import { refusal, statuses, success } from './envelope.ts'
import { accountOf, type Memory } from './oauth.ts'

/** What makes the address of a callback one that nobody can guess. */
export const variables = { WITHINGS_WEBHOOK_TOKEN: secretOf('withings callback') }

/** What can be subscribed to, by number, and the scope that it takes. */
const TOPICS: Readonly<Record<string, string>> = {
  ...{ '1': 'user.metrics', '2': 'user.metrics', '4': 'user.metrics', '16': 'user.activity', '44': 'user.activity' },
  ...{ '46': 'user.info', '50': 'user.sleepevents', '51': 'user.sleepevents', '54': 'user.metrics' },
  ...{ '55': 'user.metrics', '58': 'user.metrics', '62': 'user.metrics' },
}
const NEVER = 2_147_483_647

/** Notices of one's own subscriptions: unsigned forms with the window to ask for. */
export function noticesOf(memory: Memory): Notices {
  return {
    byHand: false,
    // Twice each: at once, after ten seconds, a minute, an hour, four hours.
    retries: [1, 10, 1, 60, 1, 3600, 1, 14_400, 1],
    answerSeconds: 2,
    cancelDays: 20,
    of: told,
    left: (person, atMs) => (memory.ending ? undefined : notice(person, { atMs, appli: 46, action: 'unlink' })),
    headers: () => ({ 'content-type': 'application/x-www-form-urlencoded' }),
    takes: (status) => status < 400,
    answer: (call) => (call.path === '/notify' ? answered(call) : undefined),
  }
}

interface Said {
  readonly atMs: number
  readonly appli: number
  readonly [field: string]: string | number
}

/** With the parameters of the callback in the body, too. */
function notice(person: Person, { atMs, appli, ...fields }: Said): Notice {
  return {
    atMs,
    topic: String(appli),
    body: ({ url }) => {
      const form = new URLSearchParams({ userid: accountOf(person), appli: String(appli) })
      for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
      for (const [name, value] of new URL(url).searchParams) form.append(name, value)
      return String(form)
    },
  }
}

function told({ person, scopes, fromMs, toMs }: Stretch): Notice[] {
  const span = [fromMs, toMs] as const
  const of = <One extends { atMs: number; knownMs: number }>(appli: number, found: readonly One[]) =>
    found.map((one) => ({ ...window(one.atMs, one.atMs), appli, atMs: one.knownMs }))
  const said: Said[] = [
    ...changesOf(person, fromMs, toMs).flatMap(ofChange),
    ...of(2, learned(person, temperatureOf, span)),
    ...of(4, learned(person, bloodPressureOf, span)),
    ...of(4, learned(person, spotOxygenOf, span)),
    ...gathered(person, glucoseOf, span).map((one) => ({
      ...{ ...window(one.fromMs, one.toMs), appli: 58, atMs: one.knownMs },
    })),
  ]
  const allowed = said.filter(({ appli }) => scopes.has(TOPICS[String(appli)] ?? ''))
  return allowed.sort((a, b) => a.atMs - b.atMs).map((one) => notice(person, one))
}

/** From an instant to one after another, as a scale writes it. */
function window(fromMs: number, toMs: number) {
  return { startdate: seconds(fromMs), enddate: seconds(toMs) + 1 }
}

/** What was deleted is told like what is new. */
function ofChange(change: Change): Said[] {
  const { atMs } = change
  if (change.what === 'weighing') return [{ atMs, appli: 1, ...window(change.weighing.atMs, change.weighing.atMs) }]
  if (change.what === 'sleep') {
    const { startMs, endMs } =
      change.before && change.before.startMs < change.view.startMs ? change.before : change.view
    return [{ atMs, appli: 44, startdate: seconds(startMs), enddate: seconds(endMs) }]
  }
  if (change.what === 'workout') return [{ atMs, appli: 16, date: dateOf(change.view.workout.day) }]
  return change.what === 'day' ? [{ atMs, appli: 16, date: dateOf(change.day.day) }] : []
}

const wrong = (name: string) => refusal(statuses.parameters, `Invalid Params: ${name}`)
const missing = () => refusal(statuses.noSubscription, 'No such subscription was found')

/** Subscriptions of the person whose token came along. */
async function answered(call: SubscriptionCall): Promise<Reply> {
  const { method, form, person, subscriptions, nowMs } = call
  if (method !== 'POST') return refusal(statuses.action, 'Not implemented')
  if (!person) return refusal(statuses.token, 'The access token provided is invalid')
  const own = subscriptions.list(nowMs).filter((one) => one.person === person.key)
  const action = form.get('action')
  const [url, appli] = [form.get('callbackurl') ?? '', form.get('appli') ?? (action === 'get' ? '1' : '')]
  const isOf = (one: Subscription) => appli === '' || one.topics?.includes(appli) === true
  if (action === 'list') return success({ profiles: own.filter(isOf).map(shown) })
  const found = own.find((one) => one.url === url && isOf(one))
  if (action === 'subscribe') return subscribe(call, person, { url, appli, found })
  if (!['get', 'update', 'revoke'].includes(action ?? '')) return refusal(statuses.action, 'Not implemented')
  if (!found || appli === '') return missing()
  if (action === 'update') return update(call, found)
  if (action === 'revoke') subscriptions.remove(found)
  return success(action === 'get' ? { appli: Number(appli), callbackurl: url, comment: found.key ?? '' } : {})
}

/** The comment is kept where others have the key of a signature. */
function shown({ url, topics, key }: Subscription) {
  return { appli: Number(topics?.[0]), expires: NEVER, comment: key ?? '', callbackurl: url }
}

interface Wanted {
  readonly url: string
  readonly appli: string
  readonly found: Subscription | undefined
}

async function subscribe(call: SubscriptionCall, person: Person, { url, appli, found }: Wanted): Promise<Reply> {
  const { scopes, subscriptions, nowMs, form } = call
  const scope = TOPICS[appli]
  if (scope === undefined) return wrong('appli')
  if (!scopes.has(scope)) return refusal(statuses.scope, 'Unauthorized: insufficient scope')
  if (!(await isReached(call, url))) return refusal(statuses.callback, 'The callback URL is either absent or incorrect')
  if (!found) subscriptions.add({ url, topics: [appli], person: person.key, key: form.get('comment') }, nowMs)
  return success({})
}

/** It has to answer 200 to HEAD and to GET. */
async function isReached({ ask }: SubscriptionCall, url: string): Promise<boolean> {
  if (!isAddress(url) || url.length > 255) return false
  const answers = [await ask(url, { method: 'HEAD' }), await ask(url, { method: 'GET' })]
  return answers.every((answer) => answer?.status === 200)
}

async function update(call: SubscriptionCall, found: Subscription): Promise<Reply> {
  const { form } = call
  const [url, appli] = [form.get('new_callbackurl'), form.get('new_appli')]
  if (appli !== null && TOPICS[appli] === undefined) return wrong('new_appli')
  if (url !== null && !(await isReached(call, url)))
    return refusal(statuses.callback, 'The callback URL is either absent or incorrect')
  if (url !== null) found.url = url
  if (appli !== null) found.topics = [appli]
  return success({})
}
