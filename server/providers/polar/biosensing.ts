import type { SeriesName } from '../../catalogue/series.ts'
import type { At, Item, Out, Part } from '../part.ts'
import { itemsOf, minutesIn } from './items.ts'

// What the Elixir sensors measure, and the physical facts of the profile.

const temperatures: ReadonlyMap<string, SeriesName> = new Map([
  ['TM_SKIN_TEMPERATURE', 'skin_temperature'],
  ['TM_CORE_TEMPERATURE', 'body_temperature'],
])

/** Temperatures over a span, in UTC. */
export function bodyTemperature(out: Out, part: Part): void {
  for (const span of itemsOf(out, part)) {
    const series = temperatures.get(span.text('measurement_type') ?? '')
    const start = span.instant('start_time')
    if (!start) span.reject('missing', 'start_time')
    if (!series || !start) continue
    for (const sample of span.objects('samples')) {
      const delta = sample.number('recording_time_delta_milliseconds')
      if (delta === undefined) sample.reject('missing', 'recording_time_delta_milliseconds')
      else out.sample(series, { ms: start.ms + delta, zoneMin: null }, sample.number('temperature_celsius'))
    }
  }
}

/** The instant of a test, in epoch seconds beside minutes east of UTC. */
function testedAt(test: Item): At | undefined {
  const seconds = test.number('test_time')
  if (seconds === undefined) test.reject('missing', 'test_time')
  return seconds === undefined ? undefined : { ms: seconds * 1000, zoneMin: minutesIn(test, 'time_zone_offset') }
}

/** Tests of the oxygen in the blood, where they succeeded. */
export function spo2(out: Out, part: Part): void {
  for (const test of itemsOf(out, part)) {
    const at = testedAt(test)
    if (!at || test.text('test_status') !== 'SPO2_TEST_PASSED') continue
    const record = `polar:spo2:${test.id('test_time')}`
    out.sample('oxygen_saturation', at, test.number('blood_oxygen_percent') || undefined, record)
    heart(out, test, at, record)
  }
}

/** Electrocardiograms, of which the figures are kept. */
export function ecg(out: Out, part: Part): void {
  for (const test of itemsOf(out, part)) {
    const at = testedAt(test)
    if (at) heart(out, test, at, `polar:ecg:${test.id('test_time')}`)
  }
}

/** Zero is nothing measured. */
function heart(out: Out, test: Item, at: At, record: string): void {
  out.sample('heart_rate_variability_rmssd', at, test.number('heart_rate_variability_ms') || undefined, record)
  out.sample('heart_rate', at, test.number('average_heart_rate_bpm') || undefined, record)
}

/** A weight that nobody gave is a guess of Polar's. */
const given: ReadonlySet<string> = new Set(['SOURCE_USER', 'SOURCE_MEASURED'])

/** The facts of the profile, as they have been since `modified`. */
export function physicalInfo(out: Out): void {
  for (const person of out.whole()) {
    const at = person.instant('modified')
    const weight = given.has(person.text('weight_source') ?? '') ? person.number('weight') : undefined
    out.current('weight', weight || undefined, at)
    out.current('height', person.number('height') || undefined, at)
    out.current('resting_heart_rate', person.number('resting_heart_rate') || undefined, at)
    out.current('vo2_max', person.number('vo2_max') || undefined, at)
  }
}
