import { DAY_MS } from '../../time.ts'
import type {
  AccountSubscriptions,
  Application,
  Challenge,
  InboundRequest,
  Keys,
  Notice,
  Notices,
  OpenedBody,
} from '../notices.ts'
import type { Window } from '../provider.ts'
import { isSame } from '../signing.ts'
import { createRequest, listRequest, readProfiles, removeRequest } from './notify.ts'

/** In the address that Withings is given: whoever does not know it cannot notify. */
const TOKEN = 'WEBHOOK_TOKEN'

/** How Withings notifies: of what category there is something new, and when it was measured. */
export const notices: Notices = {
  limitBytes: 64 * 1024,
  isForm: true,
  secrets: [TOKEN],
  verify,
  challenge,
  tells: [
    ...(['weight', 'body_fat_percentage', 'body_fat_mass', 'lean_body_mass', 'skeletal_muscle_mass'] as const),
    ...(['blood_pressure_systolic', 'blood_pressure_diastolic', 'blood_glucose', 'basal_energy'] as const),
  ],
  accounts,
  open,
  accountSubscriptions,
}

/** Withings signs nothing, so the address has to be secret; it may repeat what is in the address among its fields. */
function verify({ body, query }: InboundRequest, { own }: Keys): 'signed' | 'refused' {
  const known = own[TOKEN]
  return isSame(query.token, known) || isSame(fieldsOf(body).get('token'), known) ? 'signed' : 'refused'
}

/** Withings asks at the address before it takes it, without anything to send back. */
function challenge(): Challenge {
  return { status: 200, json: { status: 'ok' } }
}

/** The scope that a category needs, and the streams that are asked for because of it. */
const categories: ReadonlyMap<string, readonly [scope: string, ...streams: string[]]> = new Map([
  ['1', ['user.metrics', 'measures']],
  ['2', ['user.metrics', 'measures']],
  ['4', ['user.metrics', 'measures']],
  ['16', ['user.activity', 'activity', 'workouts']],
  ['44', ['user.activity', 'sleep']],
  // That somebody has left, or changed something of the account.
  ['46', ['user.info']],
  ['58', ['user.metrics', 'measures']],
])

/** Not subscribed to by us; where somebody else did, it is in the time series of the day. */
const OF_VARIABILITY = '62'

/** Withings notifies one weighing several times. */
const EVERY_SECONDS = 30

/** The form names one. */
function accounts(body: Uint8Array): readonly string[] {
  const account = fieldsOf(body).get('userid')
  return account === undefined ? [] : [account]
}

function open({ body, atMs }: OpenedBody): readonly Notice[] | 'malformed' {
  const fields = fieldsOf(body)
  // Whoever asks whether we are there sends nothing.
  if (fields.size === 0 && body.length === 0) return []
  const [account, appli] = [fields.get('userid') ?? '', fields.get('appli') ?? '']
  if (!/^\d{1,20}$/.test(account) || !/^\d{1,6}$/.test(appli)) return 'malformed'
  if (appli === '46') return ['delete', 'unlink'].includes(fields.get('action') ?? '') ? [left(account)] : []
  const [, ...streams] = appli === OF_VARIABILITY ? ['', 'intraday'] : (categories.get(appli) ?? [''])
  const window = windowOf(fields, atMs)
  return streams.map((stream) => ({
    account,
    kind: 'fetch',
    wish: { kind: 'span', stream, window, everySeconds: EVERY_SECONDS },
  }))
}

const left = (account: string): Notice => ({ account, kind: 'deauthorise' })

/** More than the times of a notice say, since they are those of one measurement. */
const PAD_MS = 60_000

/** What is asked for where a notice does not say what it is about. */
const RECENT_MS = 2 * DAY_MS

/** Clocks, or dates of the person's clock: those of the days next to it are asked for, too. */
function windowOf(fields: ReadonlyMap<string, string>, atMs: number): Window {
  const day = dayMs(fields.get('date'))
  const [startMs, endMs] = [instantMs(fields.get('startdate')), instantMs(fields.get('enddate'))]
  const fromMs = startMs ?? day ?? instantMs(fields.get('date'))
  const untilMs = endMs ?? (fromMs === undefined ? undefined : fromMs + (day === undefined ? 0 : DAY_MS))
  const isPossible = fromMs !== undefined && untilMs !== undefined && fromMs <= untilMs && fromMs <= atMs + DAY_MS
  if (!isPossible) return { fromMs: atMs - RECENT_MS, untilMs: atMs }
  return { fromMs: fromMs - PAD_MS, untilMs: Math.min(untilMs, atMs + DAY_MS) + PAD_MS }
}

const instantMs = (text: string | undefined): number | undefined =>
  /^\d{5,11}$/.test(text ?? '') ? Number(text) * 1000 : undefined

function dayMs(text: string | undefined): number | undefined {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text ?? '') ? Date.parse(text as string) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** The fields of a form: urlencoded, or in parts whose boundary is the first line. */
export function fieldsOf(body: Uint8Array): ReadonlyMap<string, string> {
  const text = Buffer.from(body).toString('utf8')
  if (!text.startsWith('--')) return new Map(new URLSearchParams(text.trim()))
  const [boundary = ''] = text.split(/\r?\n/, 1)
  const parts = text.split(boundary).flatMap((part) => {
    const [headers = '', ...lines] = part.split(/\r?\n\r?\n/)
    const name = /\bname="([^"]{1,100})"/.exec(headers)?.[1]
    return name === undefined ? [] : [[name, lines.join('\n\n').replace(/\r?\n$/, '')] as const]
  })
  return new Map(parts)
}

/** One for each category that the person permits. */
function accountSubscriptions({ own }: Application): AccountSubscriptions {
  return {
    wanted: (scope) =>
      [...categories].flatMap(([appli, [needed]]) => (scope === null || scope.has(needed) ? [appli] : [])),
    address(url) {
      const address = new URL(url)
      address.searchParams.set('token', own[TOKEN] ?? '')
      return address.href
    },
    list: listRequest,
    read: readProfiles,
    create: createRequest,
    remove: removeRequest,
  }
}
