// Phones of the people: each day one sends what it measured the day before, some of it again, corrected or deleted.
import { pick, random } from '../../../simulator/random.ts'
import { body, heartRate, iso, type SdkRecord, steps, upload, WATCH } from '../sdk.ts'
import type { Service } from '../service.ts'
import type { Json, Playing } from '../simulator.ts'
import { stage } from '../sleep.ts'
import { type Lines, stageLine, workoutLine } from '../truth.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const HEART_MINUTES = 10
const STEPS_MINUTES = 60

/** Whose phones they are, and where they send to. */
interface Owners {
  readonly simulator: Playing
  readonly service: Service
  readonly members: readonly Owner[]
}

interface Owner {
  readonly person: string
  readonly user: string
}

/** The collections of an upload. */
interface Sent {
  readonly records: SdkRecord[]
  readonly sleep: SdkRecord[]
  readonly workouts: SdkRecord[]
}

/** What each phone's platform has, by the id of a record: the line that a reader gets. */
export class Phones {
  readonly #seed: number
  readonly #lines = new Map<string, Map<string, string>>()
  readonly #last = new Map<string, Sent>()

  constructor(seed: number) {
    this.#seed = seed
  }

  /** Everybody's phone sends the day before that instant, and what became of the day before that. */
  async send({ simulator, service, members }: Owners, nowMs: number): Promise<void> {
    const from = new Date(nowMs - 3 * DAY_MS).toISOString().slice(0, 10)
    for (const member of members) {
      const path = `truth?person=${member.person}&from=${from}&minutes=true`
      const truth = (await simulator.control('GET', path)).body
      const data = this.#sentOf(member, truth, nowMs)
      const { status } = await upload(service, member.user, body([], { data }))
      if (status !== 202) throw new Error(`the upload of ${member.person} was answered ${status}`)
    }
  }

  /** What has to be there of a person. */
  linesOf(person: string): Lines {
    const required = new Set(this.#lines.get(person)?.values())
    const only = new Set(['heart_rate', 'steps', 'stage', 'workout'])
    return { required, allowed: new Set(), unsure: new Set(), only }
  }

  #sentOf({ person }: Owner, truth: Json, nowMs: number): Sent & { deleted: SdkRecord[] } {
    const next = random(`phones/${this.#seed}/${person}/${nowMs}`)
    const lines = this.#lines.get(person) ?? new Map<string, string>()
    this.#lines.set(person, lines)
    const within = (atMs: number) => atMs >= nowMs - 2 * DAY_MS && atMs < nowMs - DAY_MS
    const fresh: Sent = {
      records: recordsOf(truth, within, lines),
      sleep: stagesOf(truth, within, lines),
      workouts: workoutsOf(truth, within, lines),
    }
    const { records, sleep, workouts } = this.#last.get(person) ?? { records: [], sleep: [], workouts: [] }
    this.#last.set(person, fresh)
    const again = records.filter(() => next() < 0.5).map((one) => corrected(one, next() < 0.1, lines))
    const gone = [...again, ...workouts].length > 0 ? [pick(next, [...again, ...workouts]).id as string] : []
    for (const id of gone) lines.delete(id)
    return {
      records: [...fresh.records, ...again],
      sleep: [...fresh.sleep, ...sleep],
      workouts: [...fresh.workouts, ...workouts],
      deleted: gone.map((id) => ({ id })),
    }
  }
}

type Within = (atMs: number) => boolean

function recordsOf({ minutes }: Json, within: Within, lines: Map<string, string>): SdkRecord[] {
  const records: SdkRecord[] = []
  const add = (kind: 'heart_rate' | 'steps', atMs: number, value: number) => {
    const id = `${kind} ${atMs}`
    lines.set(id, `${kind} ${atMs / 1000} ${value}`)
    records.push((kind === 'steps' ? steps : heartRate)(atMs, value, { id }))
  }
  for (const { start, heart_rate: beats, steps: walked } of minutes)
    for (let minute = 0; minute < beats.length; minute += 1) {
      const atMs = Date.parse(start) + minute * MINUTE_MS
      if (!within(atMs)) continue
      if (atMs % (HEART_MINUTES * MINUTE_MS) === 0 && beats[minute] > 0) add('heart_rate', atMs, beats[minute])
      if (atMs % (STEPS_MINUTES * MINUTE_MS) === 0 && walked[minute] > 0) add('steps', atMs, walked[minute])
    }
  return records
}

/** Nights as a watch sees them, which knows no sessions; lying awake at first is part of none (docs/events.md). */
function stagesOf({ sleeps }: Json, within: Within, lines: Map<string, string>): SdkRecord[] {
  const nights = sleeps.filter(({ end, complete }: Json) => complete && within(Date.parse(end)))
  return nights.flatMap(({ stages }: Json) =>
    stages.map((one: Json, place: number) => {
      const id = `stage ${one.start}`
      if (place > 0 || one.stage !== 'awake') lines.set(id, stageLine(one))
      return stage(one.stage, Date.parse(one.start), Date.parse(one.end), { id })
    }),
  )
}

function workoutsOf({ workouts }: Json, within: Within, lines: Map<string, string>): SdkRecord[] {
  const theirs = workouts.filter(({ start }: Json) => within(Date.parse(start)))
  return theirs.map((one: Json) => {
    const [startDate, endDate] = [iso(Date.parse(one.start)), iso(Date.parse(one.end))]
    const id = `workout ${one.start}`
    lines.set(id, workoutLine(one, 'running', null))
    return { id, type: 'running', startDate, endDate, zoneOffset: one.start_offset, source: WATCH }
  })
}

/** A record that is sent again, with another value if it is wrong. */
function corrected(record: SdkRecord, isWrong: boolean, lines: Map<string, string>): SdkRecord {
  const id = record.id as string
  const line = lines.get(id)
  if (!isWrong || line === undefined) return record
  const value = (record.value as number) + 1
  lines.set(id, `${line.slice(0, line.lastIndexOf(' '))} ${value}`)
  return { ...record, value }
}
