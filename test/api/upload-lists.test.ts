// Lists of uploads: by status, page by page, of one person or of all.
import t from 'tap'
import { startTestApp } from '../support/app.ts'
import { body, createUser, heartRate, importBody, oneEngine, record, startImports, upload } from '../support/sdk.ts'

const NOON = Date.UTC(2026, 1, 24, 12)
const ALL = '/api/v1/sync/batches'

oneEngine(t, 'lists of uploads', async (t, engine) => {
  const app = await startTestApp(t, engine)
  const jobs = await startImports(t, app)
  const [ada, ben] = [await createUser(app), await createUser(app)]
  const own = (user: string) => `/api/v1/sdk/users/${user}/sync/batches`
  const sent: [user: string, status: string, id: string][] = []
  const send = async (user: string, content: object) => {
    const { batch_id, status } = await importBody(app, user, content)
    sent.unshift([user, status, batch_id])
  }
  for (let n = 0; n < 3; n += 1) {
    await send(ada, body([heartRate(NOON + n * 1000, 60)]))
    await send(ben, body([heartRate(NOON + n * 1000, null)]))
    await send(ben, body([heartRate(NOON + n * 1000, 60), heartRate(NOON, null)]))
    await send(ada, body([record('heart_rate', NOON, 60)]))
  }
  await send(ben, body([heartRate(NOON, 60, { type: 'HEART_RATE' })], { provider: 'samsung' }))
  await jobs.stop()
  const waiting = (await upload(app, ada, body([heartRate(NOON, 99)]))).body.batch_id
  sent.unshift([ada, 'queued', waiting])
  const ids = (kept: (one: (typeof sent)[number]) => boolean) => sent.filter(kept).map(([, , id]) => id)

  /** The ids of all pages. */
  const read = async (path: string, query: string, auth: 'key' | 'developer' = 'developer') => {
    const pages: string[][] = []
    let cursor: string | null = null
    do {
      const next: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const answer = await app.request('GET', `${path}?${query}${next}`, { auth })
      if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
      pages.push(answer.body.map(({ batch_id }: { batch_id: string }) => batch_id))
      cursor = answer.headers.get('x-next-cursor')
    } while (cursor !== null)
    return pages
  }

  t.strictSame([...new Set(sent.map(([, status]) => status))].sort(), [
    ...['failed', 'partial', 'queued', 'skipped', 'success'],
  ])
  t.strictSame(await read(ALL, ''), [ids(() => true)], 'all users, newest first')
  t.strictSame(await read(own(ada), '', 'key'), [ids(([user]) => user === ada)])
  for (const limit of [1, 3, 7, 14]) {
    const pages = await read(ALL, `limit=${limit}`)
    t.strictSame(
      pages.flat(),
      ids(() => true),
      `no upload twice or missing in pages of ${limit}`,
    )
    t.equal(pages.length, Math.ceil(14 / limit))
    t.strictSame(
      (await read(own(ben), `limit=${limit}`, 'key')).flat(),
      ids(([user]) => user === ben),
    )
  }
  for (const status of [
    'queued',
    'success',
    'partial',
    'skipped',
    'failed',
    'partial,failed',
    'failed&status=queued',
  ]) {
    const wanted = status.replace('&status=', ',').split(',')
    const kept = ([, of]: (typeof sent)[number]) => wanted.includes(of)
    t.strictSame((await read(ALL, `limit=2&status=${status}`)).flat(), ids(kept), status)
    t.strictSame(
      (await read(own(ben), `limit=2&status=${status}`)).flat(),
      ids((one) => kept(one) && one[0] === ben),
    )
    t.strictSame(
      (await read(ALL, `limit=2&status=${status}&user_id=${ada}`)).flat(),
      ids((one) => kept(one) && one[0] === ada),
    )
  }
  t.strictSame(await read(ALL, 'provider=samsung'), [[sent[1]?.[2]]])
  t.strictSame(await read(ALL, `provider=apple&user_id=${ben}&status=failed&limit=9`), [
    ids(([user, status]) => user === ben && status === 'failed'),
  ])
  const [skipped] = (await app.request('GET', `${ALL}?status=skipped`, { auth: 'developer' })).body
  t.match(skipped, { user_id: ada, ignored_type: 1, unknown_fields: [] })
  t.match(skipped.ignored_types, [{ type: 'heart_rate', items: 1, likely: 'HKQuantityTypeIdentifierHeartRate' }])

  const ask = async (path: string, options = {}) => (await app.request('GET', path, options)).status
  const { headers } = await app.request('GET', `${own(ada)}?limit=1`)
  const cursor = encodeURIComponent(headers.get('x-next-cursor') ?? '')
  t.equal(await ask(`${own(ada)}?limit=5&cursor=${cursor}`), 200, 'only the limit may differ')
  for (const query of [`status=failed&cursor=${cursor}`, 'cursor=', 'cursor=x'])
    t.equal(await ask(`${own(ada)}?${query}`), 400, query)
  t.equal(await ask(`${own(ben)}?cursor=${cursor}`), 400, 'of another user')
  t.equal(await ask(`${ALL}?cursor=${cursor}`, { auth: 'developer' }), 400, 'of another list')
  for (const query of ['status=broken', 'limit=0', 'limit=201', 'page=2'])
    t.equal(await ask(`${ALL}?${query}`, { auth: 'developer' }), 422, query)
  t.equal(await ask(`${ALL}?user_id=%00`, { auth: 'developer' }), 422)
  t.equal(await ask(ALL), 401, 'a key is not enough')
  const phone = { auth: { bearer: await app.sdkToken(ada) } }
  t.equal(await ask(ALL, phone), 401)
  t.equal(await ask(`${own(ada)}?status=failed`, phone), 200)
  t.equal(await ask(`${own(ben)}?status=failed`, phone), 403)
})
