// A piece of an upload's samples is a whole of its own: it keeps the records of its samples, and no others.
import t from 'tap'
import type { SampleColumns } from '../../server/batch/columns.ts'
import { columnsAt, originsOf, sampleOrigins } from '../../server/batch/columns-at.ts'
import { originHash } from '../../server/batch/origins.ts'

t.test('a piece of samples', async (t) => {
  const times = [1_000, 2_000, 3_000, 4_000]
  const origins = times.flatMap((timeMs) => [{ timeMs, ...originHash(`record ${timeMs}`, null) }])
  const whole: SampleColumns = {
    ...{ source: 3, seriesId: 1, origins: sampleOrigins(origins) },
    timeMs: Float64Array.from(times),
    value: Float64Array.of(1, 2, 3, 4),
    zoneMin: Int16Array.of(0, 60, 60, 0),
    lastsS: Int32Array.of(0, 5, 6, 0),
    zoneTaken: Uint8Array.of(0, 1, 0, 1),
  }
  const { origins: kept, ...piece } = columnsAt(whole, [1, 3])
  t.strictSame(piece, {
    ...{ source: 3, seriesId: 1, timeMs: Float64Array.of(2_000, 4_000), value: Float64Array.of(2, 4) },
    ...{ zoneMin: Int16Array.of(60, 0), lastsS: Int32Array.of(5, 0), zoneTaken: Uint8Array.of(1, 1) },
  })
  t.strictSame(originsOf({ origins: kept }), [origins[1], origins[3]])
  t.equal(columnsAt({ ...whole, origins: sampleOrigins(origins.slice(0, 1)) }, [1]).origins, null)
})
