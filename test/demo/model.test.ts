// The invented people stay within what a sleep physician or a runner believes, whatever the seed.
import t from 'tap'
import { cycleOf, illness, journey, marathonOf, runOf, startOf, watchless } from '../../demo/calendar.ts'
import { dayOf } from '../../demo/clock.ts'
import { asleepMinutes, type Day, hourlyMeans, lifeOf, localHour } from '../../demo/days.ts'
import { itemsOf } from '../../demo/events.ts'
import { type Sleep, stageMinutes } from '../../demo/nights.ts'
import { type Person, people } from '../../demo/people.ts'
import { unwornOf } from '../../demo/plans.ts'
import { variabilityOf, wakingTemperature } from '../../demo/vitals.ts'
import { dateOf, HOUR_MS, MINUTE_MS } from '../../simulator/zones.ts'
import { THOROUGH } from '../support/thorough.ts'

const LAST = dayOf(2026, 11, 20)
const YEAR = Array.from({ length: 365 }, (_, age) => LAST - age)
const SEEDS = THOROUGH ? ['1', '2', '3', 'x', 'y'] : ['1', '2']
/** Every fourth day: all weekdays, seasons and shifts. */
const DAYS = THOROUGH ? YEAR : YEAR.filter((_, at) => at % 4 === 0)

interface Made {
  person: Person
  days: Day[]
}

const made: Made[] = SEEDS.flatMap((seed) =>
  people(seed).map((person) => {
    const life = lifeOf(person)
    return { person, days: DAYS.map((day) => life.day(day)) }
  }),
)
const of = (key: Person['key']) => made.filter(({ person }) => person.key === key)
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
const nights = ({ days }: Made) => days.flatMap(({ sleeps }) => sleeps.filter(({ isNap }) => !isNap))
const period = ({ stages }: Sleep) => ((stages.at(-1)?.endMs ?? 0) - (stages[0]?.startMs ?? 0)) / MINUTE_MS

/** The named values that lie outside of [low, high]. */
function outside(values: readonly (readonly [name: string, value: number])[], low: number, high: number): string[] {
  return values.filter(([, value]) => !(value >= low && value <= high)).map(([name, value]) => `${name}: ${value}`)
}

t.test('nights have the stages of a healthy adult', async (t) => {
  for (const one of made) {
    const all = nights(one)
    const share = (stage: 'deep' | 'rem' | 'awake') =>
      all.map((sleep) => {
        const name = `${one.person.key} ${new Date(sleep.inBed.endMs).toISOString()} ${stage}`
        return [name, stageMinutes(sleep.stages)[stage] / period(sleep)] as const
      })
    t.ok(all.length > DAYS.length * 0.85, `${one.person.key} sleeps with the watch`)
    t.strictSame(outside(share('deep'), 0.13, 0.23), [])
    t.strictSame(outside(share('rem'), 0.18, 0.27), [])
    t.strictSame(outside(share('awake'), 0.04, 0.14), [])
    const early = all.map(({ stages }) => firstHalf(stages, 'deep'))
    const late = all.map(({ stages }) => firstHalf(stages, 'rem'))
    t.ok(mean(early) > 0.7, 'deep sleep comes early')
    t.ok(mean(late) < 0.4, 'REM sleep comes late')
    t.strictSame(all.filter(({ stages }) => stages[0]?.stage === 'rem').length, 0, 'nobody falls asleep into REM sleep')
  }
})

/** Share of a stage that lies in the first half of a night. */
function firstHalf(stages: Sleep['stages'], stage: string): number {
  const from = stages[0]?.startMs ?? 0
  const middle = (from + (stages.at(-1)?.endMs ?? 0)) / 2
  const those = stages.filter((one) => one.stage === stage)
  const length = (spans: readonly { startMs: number; endMs: number }[]) =>
    spans.reduce((sum, span) => sum + span.endMs - span.startMs, 0)
  return length(those.filter(({ startMs }) => startMs < middle)) / length(those)
}

t.test('stages follow each other without holes, in cycles', async (t) => {
  for (const one of made) {
    const sleeps = one.days.flatMap((day) => day.sleeps)
    const holes = sleeps.filter(({ stages }) =>
      stages.some((stage, at) => at > 0 && stages[at - 1]?.endMs !== stage.startMs),
    )
    t.strictSame(holes, [])
    const short = sleeps.filter(({ stages }) => stages.some(({ startMs, endMs }) => endMs - startMs < 30_000))
    t.strictSame(short, [])
    const outOfBed = sleeps.filter(
      ({ stages, inBed }) => (stages[0]?.startMs ?? 0) < inBed.startMs || (stages.at(-1)?.endMs ?? 0) > inBed.endMs,
    )
    t.strictSame(outOfBed, [])
    const cycles = nights(one).flatMap((sleep) => {
      const count = sleep.stages.filter(({ stage }) => stage === 'rem').length
      return period(sleep) > 5 * 60 ? [[new Date(sleep.inBed.endMs).toISOString(), period(sleep) / count] as const] : []
    })
    t.strictSame(outside(cycles, 78, 115), [], 'of 80 to 110 minutes, more or less')
  }
})

t.test('the three sleep differently', async (t) => {
  const hours = (one: Made) => mean(nights(one).map(asleepMinutes)) / 60
  for (const [ada, ben] of SEEDS.map((_, at) => [of('ada')[at], of('ben')[at]] as const)) {
    if (!ada || !ben) throw new Error('nobody')
    t.ok(hours(ada) > 6.7 && hours(ada) < 8, `Ada ${hours(ada)}`)
    t.ok(hours(ben) > 5.2 && hours(ben) < 6.6, `Ben sleeps too little: ${hours(ben)}`)
    const naps = ben.days.flatMap(({ sleeps }) => sleeps.filter(({ isNap }) => isNap))
    t.ok(naps.length > DAYS.length / 10, 'Ben naps')
    const lengths = naps.map((nap) => [new Date(nap.inBed.startMs).toISOString(), period(nap)] as const)
    t.strictSame(outside(lengths, 10, 130), [])
    const byDay = nights(ben).filter(
      ({ inBed }) => localHour(ben.person, inBed.startMs) > 5 && localHour(ben.person, inBed.startMs) < 12,
    )
    t.ok(byDay.length > DAYS.length / 6, 'after night shifts by day')
  }
})

t.test('hearts beat within their bounds, slowest asleep', async (t) => {
  for (const { person, days } of made) {
    const named = (values: (day: Day) => number[]) =>
      days.flatMap((day) => values(day).map((value) => [`${person.key} ${dateOf(day.day)}`, value] as const))
    t.strictSame(
      outside(
        named(({ heart }) => heart.map(({ value }) => value)),
        36,
        person.highestBpm,
      ),
      [],
    )
    const quiet = days.filter(({ workouts }) => workouts.length === 0)
    const means = quiet.flatMap((day) =>
      hourlyMeans(day).map((value) => [`${person.key} ${dateOf(day.day)}`, value] as const),
    )
    t.strictSame(outside(means, person.restingBpm - 16, person.restingBpm + 55), [])
    const asleep = days.flatMap(({ heart, sleeps }) =>
      heart.filter(({ ms }) =>
        sleeps.some(({ stages }) => ms > (stages[0]?.startMs ?? 0) && ms < (stages.at(-1)?.endMs ?? 0)),
      ),
    )
    const awake = quiet.flatMap(({ heart, sleeps }) =>
      heart.filter(({ ms }) => !sleeps.some(({ inBed }) => ms > inBed.startMs && ms < inBed.endMs)),
    )
    const difference = mean(awake.map(({ value }) => value)) - mean(asleep.map(({ value }) => value))
    t.ok(difference > 8 && difference < 30, `${person.key} ${difference} slower asleep`)
    t.strictSame(
      outside(
        named(({ restingBpm }) => (restingBpm === null ? [] : [restingBpm])),
        42,
        78,
      ),
      [],
    )
  }
})

t.test('hearts are measured every five minutes, except where the watch is not worn', async (t) => {
  for (const { person, days } of made) {
    const unexplained: string[] = []
    let charged = 0
    for (const { day, heart, workouts } of days) {
      const unworn = [...unwornOf(person, day - 1), ...unwornOf(person, day)]
      for (const [at, { ms }] of heart.entries()) {
        const before = heart[at - 1]?.ms ?? ms
        if (ms - before < 11 * MINUTE_MS) continue
        charged += ms - before >= 40 * MINUTE_MS ? 1 : 0
        if (!unworn.some(({ startMs, endMs }) => startMs < ms && endMs > before))
          unexplained.push(new Date(ms).toISOString())
      }
      for (const workout of workouts) {
        const inside = heart.filter(({ ms }) => ms >= workout.startMs && ms < workout.endMs)
        if (inside.length !== (workout.endMs - workout.startMs) / 10_000) unexplained.push(workout.title)
      }
    }
    t.strictSame(unexplained, [])
    t.ok(charged > DAYS.length * 0.7, `${person.key}'s watch is charged`)
  }
  t.equal(YEAR.filter((day) => people().some((person) => watchless(person, day))).length, 9)
})

t.test('variability falls with load and illness', async (t) => {
  for (const { person, days } of made) {
    const values = days.flatMap((day) =>
      day.variability.map(({ value }) => [`${person.key} ${dateOf(day.day)}`, value] as const),
    )
    t.strictSame(outside(values, 8, 190), [])
    const usual = mean(YEAR.map((day) => variabilityOf(person, day)))
    t.ok(Math.abs(usual / person.variabilityMs - 1) < 0.2)
    if (person.key !== 'ada') continue
    const ill = YEAR.filter((day) => illness(person, day) > 0.7)
    t.ok(ill.length >= 3 && mean(ill.map((day) => variabilityOf(person, day))) < usual * 0.85)
    t.ok(variabilityOf(person, marathonOf(2026) + 1) < usual * 0.9)
  }
})

t.test('Ada trains towards a marathon, and it shows', async (t) => {
  for (const { person, days } of of('ada')) {
    const race = marathonOf(2026)
    const weeks = [4, 8, 12, 16].map((weeks) => Array.from({ length: 7 }, (_, at) => race - weeks * 7 + at))
    const runs = weeks.map((week) => week.filter((day) => runOf(person, day)).length)
    t.ok(runs.every((count) => count >= 2 && count <= 4) && mean(runs) > 3, `runs a week: ${runs}`)
    const resting = (from: number) =>
      mean(days.filter(({ day }) => day >= from && day < from + 60).map(({ restingBpm }) => restingBpm ?? Number.NaN))
    t.ok(resting(race - 62) < resting(dayOf(2026, 1, 1)) - 2, 'her resting heart rate falls')
    const marathon = lifeOf(person).day(race).workouts[0]
    t.ok(marathon && marathon.meters > 41_500 && marathon.meters < 43_000)
    t.equal(marathon?.laps.length, Math.ceil((marathon?.meters ?? 0) / 1_000))
    t.equal(runOf(person, race + 1), undefined)
  }
})

t.test('workouts are as fast, hard and long as people are', async (t) => {
  for (const { person, days } of made) {
    const workouts = days.flatMap((day) => day.workouts)
    t.ok(workouts.length > DAYS.length / 10, person.key)
    const running = workouts.filter(({ sport }) => sport === 'running')
    const paces = running.map(
      ({ title, meters, startMs, endMs }) => [title, (endMs - startMs) / MINUTE_MS / (meters / 1_000)] as const,
    )
    t.strictSame(outside(paces, 4.2, 6.6), [], 'minutes a kilometre')
    const efforts = workouts.map(({ title, heart }) => [title, mean(heart) / person.highestBpm] as const)
    t.strictSame(outside(efforts, 0.42, 0.92), [])
    const minutes = workouts.map(({ title, startMs, endMs }) => [title, (endMs - startMs) / MINUTE_MS] as const)
    t.strictSame(outside(minutes, 14, 260), [])
    const asleep = days.flatMap((day) => day.sleeps.map(({ inBed }) => inBed))
    const both = workouts.filter((one) =>
      asleep.some(({ startMs, endMs }) => one.startMs < endMs && one.endMs > startMs),
    )
    t.strictSame(both, [], 'nobody trains in bed')
    // A heart takes minutes to get there: the first lies well below what it reaches.
    const jumps = running.filter(({ heart }) => (heart[0] ?? 0) > mean(heart) - 25)
    t.strictSame(jumps, [])
  }
})

t.test('steps, energy and the rest of a day', async (t) => {
  for (const { person, days } of made) {
    const sums = days.map((day) => [dateOf(day.day), day.quarters.reduce((sum, { steps }) => sum + steps, 0)] as const)
    const worn = sums.filter(([date]) => !watchless(person, Date.parse(date) / 86_400_000))
    t.strictSame(outside(worn, 700, 56_000), [])
    const usual = mean(worn.map(([, steps]) => steps))
    t.ok(usual > 5_500 && usual < 13_000, `${person.key}: ${usual} steps`)
    const quarters = days.flatMap((day) => day.quarters.map(({ steps }) => [dateOf(day.day), steps] as const))
    t.strictSame(outside(quarters, 0, 3_000), [], 'nobody runs 200 steps a minute')
  }
})

t.test('a flight, two changes of the clock, a cycle', async (t) => {
  const [ada, , cleo] = people()
  if (!ada || !cleo) throw new Error('nobody')
  const odd = new Map<string, number>()
  for (const day of YEAR) {
    const hours = (startOf(ada, day + 1).ms - startOf(ada, day).ms) / HOUR_MS
    if (hours !== 24) odd.set(dateOf(day), hours)
  }
  t.strictSame(Object.fromEntries([...odd].sort()), {
    '2026-03-29': 23,
    '2026-10-25': 25,
    '2026-10-27': 29,
    '2026-11-01': 25,
    '2026-11-05': 18,
  })
  t.equal(YEAR.filter((day) => journey(ada, day).there !== undefined).length, 10)
  const lengths = YEAR.map((day) => [dateOf(day), cycleOf(cleo, day)?.length ?? 0] as const)
  t.strictSame(outside(lengths, 23, 33), [])
  const phase = (isLate: boolean) =>
    YEAR.filter((day) => {
      const cycle = cycleOf(cleo, day)
      return cycle && cycle.of > cycle.length - 14 === isLate
    })
  const warmer = mean(phase(true).map((day) => wakingTemperature(cleo, day)))
  t.ok(warmer - mean(phase(false).map((day) => wakingTemperature(cleo, day))) > 0.25, 'warmer after ovulation')
})

t.test('a day is the same whenever and in whatever order it is made, and a year fits its budget', async (t) => {
  for (const { person, days } of made) {
    const again = lifeOf(person)
    const [first, last] = [days.at(-1) as Day, days[0] as Day]
    t.strictSame(again.day(first.day), first)
    t.strictSame(itemsOf(person, again.day(last.day)), itemsOf(person, last))
    const items = days.reduce((sum, day) => sum + itemsOf(person, day).length, 0)
    t.ok((items / DAYS.length) * 365 <= 220_000, `${person.key}: ${(items / DAYS.length) * 365}`)
  }
  const [one, other] = [of('ben')[0]?.days[3], of('ben')[1]?.days[3]]
  t.notSame(one?.heart, other?.heart, 'another seed, another year')
})
