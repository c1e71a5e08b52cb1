import t from 'tap'
import { readUpload } from '../../workers/sdk-upload.ts'
import { inventedUpload } from '../../workers/warm-up.ts'

t.test('the invented upload is one that is imported: every record of it, each in a column', async (t) => {
  const nowMs = Date.UTC(2026, 10, 1)
  const result = readUpload({
    ...{ bytes: inventedUpload(nowMs), encoding: 'identity', queryProvider: null, provider: null, nowMs },
  })
  if (!result.ok) return t.fail(result.code)
  t.match(result.batch, { received: 1000, rejected: 0, ignored: 0, duplicates: 0 })
  const lengths = result.batch.samples.map(({ timeMs }) => timeMs.length)
  t.strictSame(lengths, [250, 250, 250, 250])
})
