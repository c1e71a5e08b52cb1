// A thousand times: write, and read at once, while the standby is late, and while it is gone.
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { counts, replicaUsed, writeAndRead } from '../support/replica-reads.ts'
import { eachEngine, startImports } from '../support/sdk.ts'
import { startReplicated } from '../support/standby.ts'

eachEngine(t, 'a thousand writes are read at once', async (t, engine) => {
  const servers = await startReplicated(t, engine)
  const primary = await startTestApp(t, servers.primary)
  await servers.caughtUp()
  await servers.delayReplay(150)
  const app = await primary.another({ databaseReadUrls: [servers.atStandby(primary.databaseUrl)] })
  await startImports(t, app)
  await replicaUsed(app)
  await writeAndRead(t, app, servers, 1_000)
  const [reads, fallbacks] = [
    await counts(app, 'pulsebase_reads_total'),
    await counts(app, 'pulsebase_replica_fallbacks_total'),
  ]
  t.comment(JSON.stringify({ reads, fallbacks }))
  t.notOk(fallbacks.error, 'no statement failed')
})
