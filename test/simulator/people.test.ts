import { createHash } from 'node:crypto'
import t from 'tap'
import { changesOf } from '../../simulator/truth/changes.ts'
import { livePerson, type Person } from '../../simulator/truth/person.ts'
import { knownMs, knownUntil, persona, zoneOn } from '../../simulator/truth/personas.ts'
import { sleepAt } from '../../simulator/truth/sleep.ts'
import { trackOf } from '../../simulator/truth/tracks.ts'
import { workoutAt } from '../../simulator/truth/workouts.ts'
import { dayOf, HOUR_MS, MINUTE_MS, offsetAt } from '../../simulator/zones.ts'
import { play } from '../support/simulator.ts'

const LAST = dayOf('2026-03-07')

function people(count: number, days: number, seed = 7): Person[] {
  const span = { firstDay: LAST - days, lastDay: LAST }
  return Array.from({ length: count }, (_, index) => livePerson(persona(seed, index, span), span))
}

function daysOf(person: Person) {
  const { firstDay, lastDay } = person.span
  return Array.from({ length: lastDay - firstDay + 1 }, (_, i) => person.day(firstDay + i))
}

t.test(
  'a seed makes the same people with the same days, whenever and in whatever order they are asked for',
  async (t) => {
    const told = async (seed: number, keys: string[]) => {
      const { control } = await play(t, { seed, people: 3 })
      const asked = keys.map(
        async (key) => [key, (await control('GET', `truth?person=${key}&from=2026-02-24&minutes=true`)).body] as const,
      )
      const bodies = new Map(await Promise.all(asked))
      return keys.sort().map((key) =>
        createHash('sha256')
          .update(JSON.stringify(bodies.get(key)))
          .digest('hex'),
      )
    }
    const first = await told(7, ['ana', 'bikash', 'clara'])
    t.strictSame(await told(7, ['clara', 'bikash', 'ana']), first)
    t.equal(new Set([...first, ...(await told(8, ['ana']))]).size, 4, 'they differ, and so do those of another seed')
    const day = (days: number) => JSON.stringify(people(1, days)[0]?.day(LAST - 5))
    t.equal(day(10), day(400), 'not even the number of days matters')
  },
)

t.test('the people live where the command promises, and as differently', async (t) => {
  const all = people(20, 150)
  const lastDays = Array.from({ length: 60 }, (_, i) => LAST - i)
  const zones = all.map((person) => new Set(lastDays.map((day) => zoneOn(person, day))).size)
  t.equal(zones.filter((count) => count > 1).length, 2, 'two travel')
  t.equal(all.filter((person) => offsetAt(person.homeZone, 0 + LAST * 86_400_000) === 345).length >= 1, true, '+05:45')
  const byDay = daysOf(all[3] as Person).flatMap(({ night }) => (night ? [localHour(night.zone, night.startMs)] : []))
  t.ok(byDay.filter((hour) => hour >= 8 && hour < 12).length > 40, 'one sleeps by day after night shifts')
  for (const last of ['2026-03-09', '2026-06-01', '2026-11-23']) {
    const span = { firstDay: dayOf(last) - 60, lastDay: dayOf(last) }
    const clara = livePerson(persona(7, 2, span), span)
    const changes = daysOf(clara).filter(({ night }) => {
      return night && offsetAt(night.zone, night.startMs) !== offsetAt(night.zone, night.endMs)
    })
    t.equal(changes.length, 1, `a night in which clocks change, in the 60 days before ${last}`)
  }
  t.equal(new Set(all.map(({ key }) => key)).size, 20)
})

t.test('no day contradicts itself', async (t) => {
  const wrong: string[] = []
  let sleeps = 0
  for (const person of people(20, 120)) {
    let until = 0
    for (const { day, zone, night, nap, rest, workout } of daysOf(person)) {
      const where = `${person.key} ${day} ${zone}`
      for (const sleep of [night, nap]) {
        if (!sleep) continue
        sleeps++
        const seconds = sleep.runs.reduce((sum, run) => sum + run.seconds, 0)
        if (seconds * 1000 !== sleep.endMs - sleep.startMs) wrong.push(`${where}: stages take ${seconds} s`)
        if (sleep.runs.some((run, i) => run.seconds <= 0 || run.stage === sleep.runs[i + 1]?.stage))
          wrong.push(`${where}: empty or equal stages`)
        if (sleep.heartRate.some((value) => value > 0 && (value < 38 || value > 110))) wrong.push(`${where}: pulse`)
      }
      const inOrder = [night, rest, nap, workout].filter((one) => one !== null).sort((a, b) => a.startMs - b.startMs)
      for (const { startMs, endMs } of inOrder) {
        if (startMs < until || endMs <= startMs) wrong.push(`${where}: overlap at ${new Date(startMs).toISOString()}`)
        until = endMs
      }
      if (night && localDate(zone, night.endMs) !== day) wrong.push(`${where}: the night ends on another date`)
    }
  }
  t.strictSame(wrong, [])
  t.ok(sleeps > 2000)
})

t.test('minutes follow each other without a gap, and hold what happened in them', async (t) => {
  const wrong: string[] = []
  for (const person of people(4, 60)) {
    for (const { day, workout, night } of daysOf(person)) {
      const { startMs, heartRate, met, steps } = person.minutes(day)
      if (person.minutes(day + 1).startMs !== startMs + met.length * MINUTE_MS) wrong.push(`${person.key} ${day}: gap`)
      const at = (ms: number) => Math.floor((ms - startMs) / MINUTE_MS)
      if (workout && heartRate[at(workout.startMs)] !== workout.heartRate[0])
        wrong.push(`${person.key} ${day}: workout`)
      const asleep = night ? steps.subarray(Math.max(0, at(night.startMs) + 1), at(night.endMs)) : []
      if (asleep.some((count: number) => count > 0)) wrong.push(`${person.key} ${day}: walks asleep`)
      if (!night && heartRate.subarray(0, 400).some((value) => value > 0)) wrong.push(`${person.key} ${day}: not worn`)
    }
  }
  t.strictSame(wrong, [])
})

t.test('a year of minutes takes little memory', async (t) => {
  let bytes = 0
  for (const person of people(2, 200)) {
    for (const { day, night } of daysOf(person)) {
      const { buffer } = person.minutes(day).met
      bytes += buffer.byteLength + (night ? night.heartRate.buffer.byteLength * 2 : 0)
    }
  }
  t.ok(bytes * 20 < 60 * 2 ** 20, `20 people take ${(bytes * 20) / 2 ** 20} MiB`)
})

t.test('what is known of a night grows, is edited or deleted, each at its time', async (t) => {
  const kinds = { longer: 0, edited: 0, deleted: 0, plain: 0 }
  const wrong: string[] = []
  for (const person of people(5, 200)) {
    for (const { night } of daysOf(person)) {
      if (!night) continue
      const first = night.versions[0]?.atMs ?? 0
      const early = sleepAt(night, first)
      const late = sleepAt(night, first + 200 * HOUR_MS)
      if (sleepAt(night, first - 1) !== null) wrong.push(`${night.key} is known before it is`)
      if (!early || !late || early.createdMs !== late.createdMs) wrong.push(`${night.key} was made twice`)
      if (early && late) {
        if (late.deleted) kinds.deleted++
        else if (late.edited) kinds.edited++
        else kinds[late.endMs > early.endMs ? 'longer' : 'plain']++
        const total = Object.values(late.seconds).reduce((sum, seconds) => sum + seconds)
        if (total * 1000 !== late.endMs - late.startMs) wrong.push(`${night.key}: stages are not cut with it`)
        if (early.endMs > first && !person.phoneAway) wrong.push(`${night.key} is known before it ends`)
      }
    }
  }
  t.strictSame(wrong, [])
  t.ok(kinds.longer > 60 && kinds.edited > 15 && kinds.deleted > 8 && kinds.plain > 500, JSON.stringify(kinds))
})

t.test('a workout the device noticed gets its name later; some are deleted', async (t) => {
  const workouts = people(6, 200).flatMap((person) => daysOf(person).flatMap(({ workout }) => workout ?? []))
  const named = workouts.filter(({ versions }) => versions.length === 2)
  const views = named.map((workout) => [workoutAt(workout, workout.versions[0]?.atMs ?? 0), workoutAt(workout, 9e12)])
  t.ok(views.length > 25 && views.every(([early]) => early?.sport === 'unknown' && !early.confirmed))
  t.ok(views.every(([, late]) => late?.confirmed))
  t.ok(workouts.some((workout) => workoutAt(workout, 9e12)?.deleted))
})

t.test('the seconds of a workout add up to it', async (t) => {
  const wrong: string[] = []
  let tracks = 0
  for (const person of people(4, 40)) {
    for (const { workout } of daysOf(person)) {
      if (!workout) continue
      tracks++
      const where = `${person.key} ${workout.key}`
      const near = (name: string, found: number, expected: number, within: number) => {
        if (!(Math.abs(found - expected) <= within)) wrong.push(`${where} ${name}: ${found}, really ${expected}`)
      }
      const track = trackOf(person, workout)
      const { distance, altitude, latitude, longitude, heartRate } = track
      if (String(trackOf(person, workout).heartRate) !== String(track.heartRate))
        wrong.push(`${where}: another each time`)
      near('length', track.seconds, workout.heartRate.length * 60, 0)
      workout.heartRate.forEach((beats, minute) => {
        const values = heartRate.subarray(minute * 60, minute * 60 + 60).filter((value) => value > 0)
        if (values.length === 60) near(`minute ${minute}`, mean(values), beats, 0.001)
      })
      near('highest', Math.max(...heartRate.filter((value) => value > 0)), Math.max(...workout.heartRate), 4)
      if ((distance === null) !== (workout.distanceM === null)) wrong.push(`${where}: distance`)
      if (distance) near('distance', distance.at(-1) ?? 0, workout.distanceM ?? 0, track.seconds / 2000 + 0.1)
      if (altitude) near('climb', climbed(altitude), workout.climbedM ?? 0, 1 + (workout.climbedM ?? 0) / 200)
      if (!latitude || !longitude || !distance) continue
      const jumps = latitude.filter((value, i) => i > 0 && Math.abs(value - (latitude[i - 1] ?? 0)) > 0.0003)
      if (jumps.length > 0 || latitude.some(Number.isNaN) || longitude.some(Number.isNaN)) wrong.push(`${where}: route`)
    }
  }
  t.strictSame(wrong, [])
  t.ok(tracks > 60, `${tracks} tracks`)
})

function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function climbed(heights: Float64Array): number {
  return heights.reduce((sum, height, i) => sum + Math.max(0, height - (heights[i - 1] ?? height)), 0)
}

t.test('changes are told once, however time is cut, and each of them is one', async (t) => {
  const told = (steps: number[]) =>
    people(4, 40).flatMap((person) =>
      steps.flatMap((toMs, i) =>
        i === 0
          ? []
          : changesOf(person, steps[i - 1] ?? 0, toMs).map(
              ({ atMs, how, what }) => `${person.key} ${atMs} ${how} ${what}`,
            ),
      ),
    )
  const [from, to] = [(LAST - 30) * 86_400_000, LAST * 86_400_000]
  const whole = told([from, to])
  const hours = Array.from({ length: 30 * 24 + 1 }, (_, hour) => from + hour * HOUR_MS)
  t.strictSame(told(hours).sort(), [...whole].sort())
  for (const kind of ['made sleep', 'changed sleep', 'removed sleep', 'made workout', 'changed workout', 'made rest'])
    t.ok(
      whole.some((one) => one.endsWith(kind)),
      kind,
    )
  const early = changesOf(people(1, 60)[0] as Person, from, to).filter(({ atMs }) => atMs % (5 * MINUTE_MS) !== 0)
  t.strictSame(early, [], 'at whole minutes only')
})

t.test('a phone without a network brings its days late, all at once', async (t) => {
  const dario = people(4, 60)[3] as Person
  const start = LAST * 86_400_000
  const instants = Array.from({ length: 41 * 24 }, (_, hour) => start + hour * HOUR_MS)
  const known = instants.map((ms) => (ms - knownUntil(dario, ms)) / HOUR_MS)
  const wrong = instants.filter((ms) => knownUntil(dario, knownMs(dario, ms)) < ms || knownMs(dario, ms) < ms)
  t.strictSame(wrong, [], 'what is said to be known then is known then')
  const longest = Math.max(...known)
  t.ok(longest === 77, `${longest} hours`)
  t.ok(known.filter((hours) => hours < 1).length === 41 * 24 - 77, 'at other times it is up to date')
})

function localHour(zone: string, ms: number): number {
  return new Date(ms + offsetAt(zone, ms) * MINUTE_MS).getUTCHours()
}

function localDate(zone: string, ms: number): number {
  return Math.floor((ms + offsetAt(zone, ms) * MINUTE_MS) / 86_400_000)
}
