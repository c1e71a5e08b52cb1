import { between, pick, random, round, whole } from '../random.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, offsetAt } from '../zones.ts'

/** Who somebody is and how they live: everything else about them follows from this and the date. */
export interface Persona {
  /** Name in addresses and answers of /_control, such as `ana`. */
  readonly key: string
  readonly seed: string
  readonly firstName: string
  readonly lastName: string
  readonly email: string
  readonly sex: 'female' | 'male'
  readonly birthYear: number
  readonly heightCm: number
  readonly weightKg: number
  readonly restingHr: number
  readonly maxHr: number
  readonly hrvMs: number
  /** Usual end of the night, minutes after midnight, and usual time in bed. */
  readonly wakeMinute: number
  readonly inBedMinutes: number
  readonly sports: readonly Sport[]
  readonly homeZone: string
  /** Where they are for nine days of every 45. */
  readonly awayZone: string | null
  /** Sleeps by day for five days of every 14. */
  readonly nightShifts: boolean
  /** Their phone reaches no network for three days of every 41. */
  readonly phoneAway: boolean
  readonly ring: 'gen3' | 'gen4' | 'or5'
  /** Version of the strap: 3 measures neither SpO2 nor skin temperature. */
  readonly strap: 3 | 4
}

export const sports = [
  ...(['running', 'trail running', 'walking', 'hiking', 'cycling', 'swimming', 'rowing'] as const),
  ...(['strength', 'yoga', 'hiit', 'tennis', 'floorball', 'unknown'] as const),
] as const
export type Sport = (typeof sports)[number]

const FIRST = (
  'Ana Bikash Clara Dario Edda Farid Greta Hana Ivo Jun Kira Liam Maya Nils Olga Pablo Quinn Rosa Sami Tara ' +
  'Ugo Vera Wim Xenia Yara Zoe'
).split(' ')
const LAST = 'Berg Costa Diaz Evans Fischer Gurung Horn Ito Jansen Kaya Lindt Moreau Novak Okafor Petrov'.split(' ')
const ZONES =
  'America/New_York Asia/Kolkata Australia/Sydney America/Sao_Paulo Europe/Helsinki Africa/Nairobi America/Denver Pacific/Auckland Europe/Lisbon Asia/Seoul'.split(
    ' ',
  )
/** Zones that change their clocks on different dates of the year. */
const CHANGING = ['Europe/Berlin', 'America/New_York', 'Australia/Sydney', 'America/Santiago', 'Africa/Cairo']

/** Where the first people live; the third lives where clocks change during the days asked for, if there is a place. */
const PLACES = [
  { home: 'Europe/Berlin', away: 'Asia/Tokyo' },
  { home: 'Asia/Kathmandu' },
  { home: 'clocks change' },
  { home: 'Europe/London', nightShifts: true },
  { home: 'America/Chicago', away: 'Europe/Athens' },
]

/** Days with data: the first, and the one on which the simulator was started, since 1970-01-01. */
export interface Span {
  readonly firstDay: number
  readonly lastDay: number
}

/** The person with this index (0 is the first) of a seed. Only `homeZone` of the third depends on the span. */
export function persona(seed: number, index: number, span: Span): Persona {
  const firstName = FIRST[index % FIRST.length] as string
  const again = Math.floor(index / FIRST.length)
  const key = firstName.toLowerCase() + (again > 0 ? `-${again + 1}` : '')
  const next = random(`${seed}/${key}`)
  const place = PLACES[index]
  const home = place?.home ?? pick(next, ZONES)
  const restingHr = whole(next, 44, 66)
  return {
    key,
    seed: `${seed}/${key}`,
    firstName,
    lastName: pick(next, LAST),
    email: `${key}@example.org`,
    sex: next() < 0.5 ? 'female' : 'male',
    birthYear: whole(next, 1955, 2003),
    heightCm: whole(next, 155, 195),
    weightKg: round(between(next, 52, 98), 1),
    restingHr,
    maxHr: whole(next, 172, 198),
    hrvMs: round(between(next, 28, 95)),
    wakeMinute: whole(next, 370, 480),
    inBedMinutes: whole(next, 430, 520),
    sports: [pick(next, sports), pick(next, sports), pick(next, sports), 'walking'],
    homeZone: home === 'clocks change' ? changingZone(span) : home,
    awayZone: place?.away ?? null,
    nightShifts: place?.nightShifts === true,
    phoneAway: index % 4 === 3,
    ring: pick(next, ['gen3', 'gen4', 'or5'] as const),
    strap: index % 5 === 1 ? 3 : 4,
  }
}

function changingZone({ firstDay, lastDay }: Span): string {
  const changes = (zone: string) => {
    for (let day = lastDay - 1; day > firstDay + 1; day--)
      if (offsetAt(zone, day * DAY_MS) !== offsetAt(zone, (day + 1) * DAY_MS)) return day
    return 0
  }
  return CHANGING.reduce((best, zone) => (changes(zone) > changes(best) ? zone : best))
}

/** The zone in which somebody spends a day (days since 1970-01-01). */
export function zoneOn({ homeZone, awayZone, seed }: Persona, day: number): string {
  if (!awayZone) return homeZone
  const place = (day + whole(random(`${seed}/trips`), 0, 44)) % 45
  return place >= 20 && place < 29 ? awayZone : homeZone
}

/** Whether the night that ends on this day is slept by day. */
export function isShift({ nightShifts, seed }: Persona, day: number): boolean {
  return nightShifts && (day + whole(random(`${seed}/shifts`), 0, 13)) % 14 < 5
}

/** Devices pass on what they measured at quarter hours. */
const SYNC_MS = 15 * MINUTE_MS

/** The span without a network that contains an instant (its ends excluded). */
function offline({ phoneAway, seed }: Persona, ms: number): { fromMs: number; toMs: number } | undefined {
  if (!phoneAway) return undefined
  const shift = whole(random(`${seed}/offline`), 0, 40)
  const fromMs = (Math.floor((ms / DAY_MS + shift - 0.5) / 41) * 41 - shift) * DAY_MS + 12 * HOUR_MS
  const toMs = fromMs + 78 * HOUR_MS
  return ms > fromMs && ms < toMs ? { fromMs, toMs } : undefined
}

/** When providers know what happened at an instant. */
export function knownMs(person: Persona, ms: number): number {
  const next = Math.ceil(ms / SYNC_MS) * SYNC_MS
  return offline(person, next)?.toMs ?? next
}

/** Up to when providers know what happened. */
export function knownUntil(person: Persona, nowMs: number): number {
  return offline(person, nowMs)?.fromMs ?? Math.floor(nowMs / SYNC_MS) * SYNC_MS
}

/** How often phones bring what a watch has measured. */
const BRINGS_MS = 3 * HOUR_MS

/** Since when what providers know at an instant may be new to them: a phone brings also what it had when it lost the network. */
export function newSince(person: Persona, atMs: number): number {
  const before = atMs - BRINGS_MS
  const knownMs = knownUntil(person, before)
  return knownMs < before - SYNC_MS ? knownMs - BRINGS_MS : knownMs
}
