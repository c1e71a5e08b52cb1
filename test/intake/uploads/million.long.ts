// A million samples of one user through the API: all of them readable, memory bounded. Prints the figures. Run with:
// npm run test:long
import t from 'tap'
import { waitUntil } from '../../../server/db/embedded/processes.ts'
import { createTestDatabase } from '../../support/app.ts'
import { body, createUser, eachEngine, heartRate, upload } from '../../support/sdk.ts'
import { onDatabase, startService } from '../../support/service.ts'

const SAMPLES = 1_000_000
const PER_REQUEST = 2000
const REQUESTS = SAMPLES / PER_REQUEST
const IN_FLIGHT = 4
const BASE = Date.UTC(2025, 0, 1)
/** Resident memory the service may use beyond its idle memory: bodies in flight, and pages of 200,000 rows. */
const UPLOADING_MIB = 256
const READING_MIB = 800

const valueAt = (n: number) => 40 + ((n * 7919) % 120)
const range = { start_time: '2025-01-01', end_time: '2025-12-31' }

eachEngine(t, 'a million samples', async (t, engine) => {
  const service = await startService(t, onDatabase(await createTestDatabase(t, engine)))
  const user = await createUser(service)
  const request = (number: number) =>
    body(
      Array.from({ length: PER_REQUEST }, (_, n) => {
        const index = number * PER_REQUEST + n
        return heartRate(BASE + index * 5000, valueAt(index), { id: `sample ${index}` })
      }),
    )
  // Threads and connections exist before the measurement: all of the former only when uploads come at once.
  const other = await createUser(service)
  await Promise.all(Array.from({ length: IN_FLIGHT }, () => upload(service, other, request(0))))
  const idleMiB = await service.rssMiB()
  let peakMiB = 0
  let sampled = Promise.resolve()
  const sampling = setInterval(() => {
    sampled = service.rssMiB().then((mebibytes) => {
      peakMiB = Math.max(peakMiB, mebibytes)
    })
  }, 100)
  t.teardown(() => clearInterval(sampling))

  const started = performance.now()
  const latencies: number[] = []
  let next = 0
  const statuses = new Map<number, number>()
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (next < REQUESTS) {
        const content = JSON.stringify(request(next++))
        const sent = performance.now()
        const { status } = await upload(service, user, content)
        latencies.push(performance.now() - sent)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }),
  )
  const acceptedMs = performance.now() - started
  t.strictSame([...statuses], [[202, REQUESTS]])
  const running = async () =>
    (await service.request('GET', `/api/v1/sync/runs?user_id=${user}&status=in_progress&limit=1`)).body.length === 0
  t.ok(await waitUntil(running, 600_000, 200))
  const importedMs = performance.now() - started
  const uploadingMiB = peakMiB
  peakMiB = 0
  const average = (numbers: number[]) => numbers.reduce((sum, one) => sum + one, 0) / numbers.length
  t.comment(
    `${engine.name}: accepted ${(SAMPLES / acceptedMs).toFixed(0)}k samples/s, ` +
      `imported ${(SAMPLES / importedMs).toFixed(0)}k samples/s (${(importedMs / 1000).toFixed(1)} s)`,
  )
  t.comment(
    `answer to an upload: first 50 ${average(latencies.slice(0, 50)).toFixed(0)} ms, ` +
      `last 50 ${average(latencies.slice(-50)).toFixed(0)} ms`,
  )

  const accept = (type: string) => ({ headers: { Accept: type } })
  const page = async (query: object, type: string) => {
    const text = new URLSearchParams({ ...range, ...query } as Record<string, string>)
    return service.request('GET', `/api/v1/users/${user}/timeseries?${text}`, accept(type))
  }
  const first = await page({ limit: '1' }, 'application/json')
  t.equal(first.body.pagination.total_count, SAMPLES)
  const runs = (await service.request('GET', `/api/v1/sync/runs?user_id=${user}&limit=10000`)).body
  t.equal(runs.length, REQUESTS)
  t.ok(runs.every(({ status }: { status: string }) => status === 'success'))

  const readingStarted = performance.now()
  let read = 0
  let wrong = 0
  for (let cursor = ''; read === 0 || cursor; ) {
    const { body, status } = await page({ limit: '200000', ...(cursor && { cursor }) }, COLUMNS)
    if (status !== 200) throw new Error(`${status} ${body}`)
    for (const [index, ms] of body.columns.timestamp_ms.entries()) {
      if (ms !== BASE + read * 5000 || body.columns.value[index] !== valueAt(read)) wrong += 1
      read += 1
    }
    if (body.pagination.total_count !== SAMPLES) wrong += 1
    cursor = body.pagination.next_cursor ?? ''
  }
  const columnsMs = performance.now() - readingStarted
  t.equal(read, SAMPLES, 'as columns')
  t.equal(wrong, 0)

  const csvStarted = performance.now()
  let lines = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body, headers } = await page({ limit: '200000', ...(cursor && { cursor }) }, 'text/csv')
    lines += body.split('\r\n').length - 2
    cursor = headers.get('x-next-cursor')
  }
  t.equal(lines, SAMPLES, 'as CSV')
  const hours = await page({ resolution: '1hour', limit: '200000' }, COLUMNS)
  t.equal(hours.body.columns.value.length, Math.ceil((SAMPLES * 5000) / 3_600_000), 'in buckets')
  t.comment(
    `${engine.name}: read in ${(columnsMs / 1000).toFixed(1)} s as columns, ` +
      `${((performance.now() - csvStarted) / 1000).toFixed(1)} s as CSV and hours`,
  )

  t.comment(
    `${engine.name}: resident memory ${idleMiB.toFixed(0)} MiB idle, ` +
      `${uploadingMiB.toFixed(0)} MiB at most while uploading, ${peakMiB.toFixed(0)} MiB while reading`,
  )
  t.ok(uploadingMiB < idleMiB + UPLOADING_MIB, 'memory is bounded while uploading')
  t.ok(peakMiB < idleMiB + READING_MIB, 'and while reading')
  clearInterval(sampling)
  await sampled
  t.equal(await service.stop(), 0)
})

const COLUMNS = 'application/vnd.pulsebase.columns+json'
