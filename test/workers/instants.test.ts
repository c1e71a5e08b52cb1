// Which texts are an instant (sdk-payload 4.5).
import t from 'tap'
import { instant, ownOffset } from '../../workers/instants.ts'

const AT_8_30 = Date.UTC(2026, 1, 24, 8, 30)

t.test('an instant is a date and a time of day in the extended format', async (t) => {
  const spellings: readonly (readonly [text: string, afterMs: number])[] = [
    ...[
      '2026-02-24T08:30:00Z',
      '2026-02-24t08:30:00z',
      '2026-02-24 08:30:00',
      '2026-02-24T08:30',
      '2026-02-24T08:30Z',
    ].map((text) => [text, 0] as const),
    ...['+02:00', '+0200', '+02', ' +02'].map((zone) => [`2026-02-24T10:30${zone}`, 0] as const),
    ...['-05:30', '-0530'].map((zone) => [`2026-02-24T03:00:00${zone}`, 0] as const),
    ['2026-02-24T03:30:00-05', 0],
    ['2026-02-24T08:30:00.25Z', 250],
    ['2026-02-24T08:30:00,25Z', 250],
    ['2026-02-24T08:30:00.123456789Z', 123],
    ['2026-02-24T08:30:01Z', 1000],
  ]
  for (const [text, afterMs] of spellings) t.equal(instant(text), AT_8_30 + afterMs, text)
})

t.test('the offset of an instant is its own in every spelling', async (t) => {
  const offsets: [zone: string, minutes: number | null][] = [
    ...['+02:00', '+0200', '+02', ' +02'].map((zone): [string, number] => [zone, 120]),
    ...['-05:30', '-0530'].map((zone): [string, number] => [zone, -330]),
    ...['', 'Z', 'z', '+00', '+00:00'].map((zone): [string, null] => [zone, null]),
  ]
  for (const [zone, minutes] of offsets)
    for (const time of ['T10:30', 't10:30:00.25']) t.equal(ownOffset(`2026-02-24${time}${zone}`), minutes, time + zone)
})

t.test('nothing else is', async (t) => {
  const others = ['2026-02-24', '20260224T083000Z', '2026-02-24T0830Z', '2026-W09-2T08:30:00Z', '2026-055T08:30:00Z']
  const zones = ['+2', '+2:00', '+02:', '+02:0', '+19', '+02:60', ' UTC', '[Europe/Berlin]']
  for (const text of [
    ...[...others, '2026-02-24T24:00:00Z', '2026-02-24T08:60:00Z', '2026-02-24T08:30:60Z', '2026-02-30T08:30:00Z'],
    ...['2026-02-24T08Z', '2026-02-24_08:30:00Z', '+2026-02-24T08:30:00Z', ' 2026-02-24T08:30:00Z', ''],
    ...zones.map((zone) => `2026-02-24T08:30:00${zone}`),
  ])
    t.equal(instant(text), undefined, text)
  t.equal(instant(AT_8_30), undefined)
})
