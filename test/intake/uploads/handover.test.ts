// How much memory parsed uploads may use while they wait for their import.
import t from 'tap'
import { createHandover } from '../../../server/intake/uploads/handover.ts'
import { readUpload } from '../../../workers/sdk-upload.ts'
import { workout, workoutBody } from '../../support/event-lists.ts'
import { iso, type SdkRecord } from '../../support/sdk.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const KEY = Buffer.alloc(32)
const LIMIT_BYTES = 100_000

/** An upload of twenty workouts in the form that the worker threads return; `fields` as the phone sends them. */
function workouts(fields: SdkRecord) {
  const items = Array.from({ length: 20 }, (_, n) => workout('RUNNING', NOON + n * 3_600_000, 30, fields))
  const bytes = Buffer.from(JSON.stringify(workoutBody(items)))
  const nowMs = NOON + 86_400_000
  const result = readUpload({ bytes, encoding: 'identity', queryProvider: null, provider: null, nowMs })
  if (!result.ok || result.batch.events.workouts.length !== 20) throw new Error('not read')
  return result.batch
}

t.test('texts of workouts count as the room they take', async (t) => {
  const bare = workouts({})
  const small = createHandover(LIMIT_BYTES)
  small.put('user', KEY, bare)
  t.equal(small.get('user', KEY), bare)

  // Each more than 4,000 characters per workout, twice as many bytes.
  const parts = Array.from({ length: 50 }, (_, n) => ({
    startDate: iso(NOON + n * 1000),
    endDate: iso(NOON + n * 1000 + 1000),
    type: 'interval of a run',
  }))
  const points = Array.from({ length: 100 }, (_, n) => ({
    timestamp: iso(NOON + n * 1000),
    latitude: 52.5200066,
    longitude: 13.4049541,
  }))
  for (const fields of [{ notes: 'n'.repeat(4_000) }, { segments: parts }, { laps: parts }, { route: points }]) {
    const [name] = Object.keys(fields)
    const batch = workouts(fields)
    small.put('user', KEY, batch)
    t.equal(small.get('user', KEY), undefined, `${name}: too large to be kept`)
    const large = createHandover(10 * LIMIT_BYTES)
    large.put('user', KEY, batch)
    t.equal(large.get('user', KEY), batch, `${name}: kept where there is room`)
  }
})

t.test('what was not asked for longest makes room', async (t) => {
  const handover = createHandover(LIMIT_BYTES)
  const batch = workouts({ notes: 'n'.repeat(1_000) })
  handover.put('first', KEY, batch)
  t.equal(handover.get('first', KEY), batch)
  handover.put('second', KEY, batch)
  t.strictSame([handover.get('first', KEY), handover.get('second', KEY)], [undefined, batch])
})
