import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { createUser, eachEngine, heartRate, body, upload, waitForBatch, startImports, storedSamples, rowVersions } from '../support/sdk.ts'
eachEngine(t, 'x', async (t, engine) => {
  let s = performance.now()
  const lap = (n: string) => { t.comment(n, Math.round(performance.now() - s)); s = performance.now() }
  const app = await startTestApp(t, engine)
  lap('app')
  await startImports(t, app)
  lap('imports')
  const user = await createUser(app)
  lap('user')
  for (let i = 0; i < 5; i++) {
    const a = await upload(app, user, body([heartRate(Date.UTC(2025,1,1)+i*1000, 60)]))
    lap('up')
    await waitForBatch(app, user, a.body.batch_id)
    lap('wait')
  }
  for (let i = 0; i < 50; i++) {
    const a = await upload(app, user, body([heartRate(Date.UTC(2025,1,1)+i*1000, 60)]))
    await waitForBatch(app, user, a.body.batch_id)
  }
  lap('50 more')
  for (let i = 0; i < 50; i++) await storedSamples(app.db, user)
  lap('50 stored')
  for (let i = 0; i < 50; i++) await rowVersions(app.db, user)
  lap('50 versions')
})
