// Run by tap after the last test file (see .taprc): stops the servers of before.ts, unless another run uses them, and
// removes its compiled files.
import { removeCompiled } from './compile.ts'
import { liveRuns, readRecord, stopServers, withRecordLock, writeRecord } from './servers.ts'

await withRecordLock(async () => {
  const record = readRecord()
  if (!record) return
  const runs = (await liveRuns(record)).filter(({ pid }) => pid !== process.ppid)
  await removeCompiled(runs)
  if (runs.length > 0) await writeRecord({ ...record, runs })
  else await stopServers(record)
})
