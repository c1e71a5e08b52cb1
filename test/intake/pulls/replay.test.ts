// What providers answered is kept, and imported again: by the same rules that changes nothing.
import t from 'tap'
import { replay } from '../../../server/intake/uploads/replay.ts'
import { connectPerson, settled, startPulling, startSimulated } from '../../support/people.ts'
import { createUser, oneEngine } from '../../support/sdk.ts'

oneEngine(t, 'replaying all parcels changes nothing', async (t, engine) => {
  const { app } = await startSimulated(t, engine, { world: { people: 1, days: 12 } })
  const user = await createUser(app)
  await startPulling(t, app)
  for (const provider of ['oura', 'whoop']) await connectPerson(app, { user, provider, person: 'ana' })
  await settled(app)
  const revision = () => app.db.one('select revision from app_user where id = $1', [user])
  const before = await revision()
  for (const toWrite of [false, true]) {
    const lines: string[] = []
    const means = { db: app.db, threads: app.threads(), settings: app.deps.config }
    await replay(means, { batch: null, user, from: null, to: null }, toWrite, (line) => lines.push(line))
    const text = lines.join('\n')
    t.match(text, /^unchanged [1-9]\d+, deleted 0, rejected 0$/m, text)
    t.equal(lines.length, 3, text)
  }
  t.strictSame(await revision(), before)
})
