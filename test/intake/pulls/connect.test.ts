// As a new user would try it: a service, the simulator, and its command that connects people.
import t from 'tap'
import { freePort } from '../../../server/db/embedded/server.ts'
import { connectPeople } from '../../../simulator/connect.ts'
import { createTestDatabase } from '../../support/app.ts'
import { dumpOf } from '../../support/clouds.ts'
import { oneEngine } from '../../support/sdk.ts'
import { API_KEY, onDatabase, startService } from '../../support/service.ts'
import { play } from '../../support/simulator.ts'
import { runs } from '../../support/thorough.ts'
import { openTestDatabase } from '../../support/webhooks.ts'

const PEOPLE = runs(1, 2)
const DAYS = runs(2, 4)

oneEngine(t, 'people are connected, and their data is there; no secret is anywhere', async (t, engine) => {
  const simulator = await play(t, { now: Date.now, people: PEOPLE, days: DAYS })
  const database = await createTestDatabase(t, engine)
  const service = await startService(t, {
    ...{ ...onDatabase(database), ...simulator.env, LOG_LEVEL: 'trace', EVENT_FEED_ENABLED: 'true' },
    // Browsers come back to it.
    PORT: String(await freePort()),
  })
  const db = openTestDatabase(t, database)
  const said: string[] = []
  const connect = () =>
    connectPeople({
      ...{ service: service.url, key: API_KEY, simulator: simulator.url, historyDays: DAYS },
      say: (line) => said.push(line),
    })
  t.equal(await connect(), 0, said.join('\n'))
  t.match(said.at(-1), /^(1 user|2 users): everybody is connected\.$/)
  const links = said.flatMap((line) => /http\S+\/events\/sleep\S+/.exec(line) ?? [])
  t.equal(links.length, PEOPLE)
  for (const link of links) {
    const { pathname, search } = new URL(link)
    const { body } = await service.request('GET', pathname + search)
    const providers = new Set(body.data.map(({ source }: { source: { provider: string } }) => source.provider))
    // Garmin sends its nights by and by.
    providers.delete('garmin')
    t.strictSame(
      providers,
      new Set(['google_health', 'oura', 'polar', 'sensorbio', 'suunto', 'ultrahuman', 'whoop', 'withings']),
      'the link that it prints shows nights of all',
    )
  }

  await t.test('a second time goes on where the first ended', async (t) => {
    said.length = 0
    t.equal(await connect(), 0)
    t.match(said.join('\n'), /oura connected before, \d+ items; whoop connected before, \d+ items/)
  })

  await t.test('tokens are refreshed, refused and revoked, people leave', async (t) => {
    const users = (await service.request('GET', '/api/v1/users')).body.items.map(({ id }: { id: string }) => id)
    await simulator.control('POST', 'expire', { provider: 'oura' })
    for (const user of users) {
      const { status } = await service.request('GET', `/api/v1/providers/oura/users/${user}/workouts`)
      t.equal(status, 200)
    }
    await simulator.control('POST', 'faults', { kind: '500', provider: 'whoop', times: 3 })
    await service.request('GET', `/api/v1/providers/whoop/users/${users[0]}/workouts`)
    await service.request('POST', `/api/v1/providers/whoop/users/${users[0]}/sync?async=false`)
    const { status } = await service.request('DELETE', `/api/v1/users/${users[0]}/connections/oura`)
    t.equal(status, 204)
  })

  const secrets: string[] = (await simulator.control('GET', 'secrets')).body.map(
    ({ value }: { value: string }) => value,
  )
  const shown = [...(await dumpOf(db)), service.output()]
  const seen = secrets.filter((secret) => {
    const spellings = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('hex')]
    return shown.some((text) => spellings.some((one) => text.includes(one)))
  })
  t.strictSame(seen, [], 'neither the database nor the log has any of them')
  t.ok(secrets.length > 12, `${secrets.length} secrets`)
  t.ok(shown.length > 1_000 && service.output().length > 1_000, 'there was something to look at')
})
