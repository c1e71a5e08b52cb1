// npm run demo -- --providers: people of the simulator, connected to a real service that was started with its variables.
import t from 'tap'
import { logIn, openApi } from '../../demo/client.ts'
import { addSimulated, removeSimulated } from '../../demo/providers.ts'
import { createTestDatabase } from '../support/app.ts'
import { engines } from '../support/servers.ts'
import { freePort, onDatabase, startService, THIS_RUN } from '../support/service.ts'
import { play } from '../support/simulator.ts'
import { runs } from '../support/thorough.ts'

const PASSWORD = 'correct horse battery staple'

t.test('people of the simulator come with their providers, and go', async (t) => {
  const [engine] = engines()
  if (!engine) throw new Error('no engine')
  const simulator = await play(t, { people: 1, days: runs(4, 20), at: Date.now() })
  const settings = { ...simulator.env, PORT: String(await freePort()) }
  const { url } = await startService(t, { ...onDatabase(await createTestDatabase(t, engine)), ...settings })
  const api = openApi(url, await logIn(url, 'admin@localhost', PASSWORD))
  const people = () =>
    api.call<{ items: { external_user_id: string; connections: { provider: string; status: string }[] }[] }>(
      'GET',
      '/users?include=connections',
    )
  const keys = () => api.call<{ name: string }[]>('GET', '/developer/api-keys')
  const before = (await keys()).length
  await api.call('POST', '/users', { body: { first_name: 'simulated-', external_user_id: 'S07' } })

  // The simulator's own process runs what was compiled before.
  Object.assign(process.env, THIS_RUN)
  const more = [
    '--people',
    '1',
    '--providers',
    '2',
    '--history',
    String(runs(1, 5)),
    '--port',
    new URL(simulator.url).port,
  ]
  for (const run of ['first', 'second']) t.equal(await addSimulated(api, url, more), 0, `the ${run} run`)
  const { items } = await people()
  const ana = items.find(({ external_user_id }) => external_user_id === 'simulated-7-ana')
  t.strictSame(
    ana?.connections.map(({ status }) => status),
    ['active', 'active'],
  )
  t.equal((await keys()).length, before + 1, 'one key for all runs')

  t.equal(await removeSimulated(api), 1)
  t.strictSame(
    (await people()).items.map(({ external_user_id }) => external_user_id),
    ['S07'],
    'others stay',
  )
  t.equal((await keys()).length, before)
})
