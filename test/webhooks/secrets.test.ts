// What happens to the secrets of endpoints when SECRET_KEY is changed.
import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto'
import t from 'tap'
import { openLog } from '../../server/log.ts'
import { openVault } from '../../server/vault.ts'
import { resealSecrets } from '../../server/webhooks/reseal.ts'
import { newSecret, readSecret, sealSecret } from '../../server/webhooks/secrets.ts'
import { createTestDatabase } from '../support/app.ts'
import { oneEngine } from '../support/sdk.ts'
import { createEndpoint, openTestDatabase } from '../support/webhooks.ts'

const [NOW, BEFORE, NEVER] = ['the present key', 'the key before it', 'a key that was lost']

/** As secrets were sealed before keys had ids: nonce, tag and text, bound to the endpoint. */
function sealedBefore(secretKey: string, uid: string, secret: string): Buffer {
  const nonce = randomBytes(12)
  const key = new Uint8Array(hkdfSync('sha256', secretKey, '', 'pulsebase webhook secret', 32))
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(uid))
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text])
}

interface Row {
  id: number
  uid: string
  secret: Buffer
  key_id: number | null
  former_secret: Buffer | null
  former_key_id: number | null
}

t.test('opens what was sealed before keys had ids, for its endpoint alone', async (t) => {
  const vault = openVault(NOW, BEFORE)
  const secret = newSecret()
  for (const key of [NOW, BEFORE]) {
    const value = { keyId: null, sealed: sealedBefore(key, 'ep_1', secret) }
    t.equal(readSecret(vault, 'ep_1', value), secret)
    t.equal(readSecret(vault, 'ep_2', value), undefined)
    t.equal(readSecret(vault, 'ep_1', { ...value, keyId: vault.keyId }), undefined)
  }
  t.equal(readSecret(vault, 'ep_1', { keyId: null, sealed: sealedBefore(NEVER, 'ep_1', secret) }), undefined)
})

oneEngine(t, 'the job seals them again with the present key, and leaves what no key opens', async (t, engine) => {
  const db = openTestDatabase(t, await createTestDatabase(t, engine))
  const vault = openVault(NOW, BEFORE)
  const [current, former] = [newSecret(), newSecret()]
  const store = async (secret: string, key: string, { former: formerKey, ids }: { former?: string; ids: boolean }) => {
    const { id, uid } = await createEndpoint(db, 'https://example.org/hook')
    const seal = (one: string, of: string) =>
      ids ? sealSecret(openVault(of), uid, one) : { keyId: null, sealed: sealedBefore(of, uid, one) }
    const [mine, other] = [seal(secret, key), formerKey && seal(former, formerKey)]
    await db.query(
      `update endpoint set secret = $2, key_id = $3, former_secret = $4, former_key_id = $5, former_until = now()
       where id = $1`,
      [id, mine.sealed, mine.keyId, other ? other.sealed : null, other ? other.keyId : null],
    )
    return id
  }
  const ids = {
    present: await store(current, NOW, { ids: true }),
    previous: await store(current, BEFORE, { former: BEFORE, ids: true }),
    withoutIds: await store(current, BEFORE, { former: NOW, ids: false }),
    formerLost: await store(current, BEFORE, { former: NEVER, ids: true }),
    lost: await store(current, NEVER, { ids: true }),
  }
  const stored = () =>
    db.query<Row>('select id, uid, secret, key_id, former_secret, former_key_id from endpoint order by id')
  const before = await stored()
  await resealSecrets({ db, vault, log: openLog('silent') })
  const after = await stored()
  const alone = openVault(NOW)
  const opened = after.map((row) => {
    const { id, uid, former_secret: sealed, former_key_id: keyId } = row
    const other = sealed && readSecret(alone, uid, { keyId, sealed })
    return [id, readSecret(alone, uid, { keyId: row.key_id, sealed: row.secret }), other]
  })
  t.strictSame(opened, [
    [ids.present, current, null],
    [ids.previous, current, former],
    [ids.withoutIds, current, former],
    [ids.formerLost, current, undefined],
    [ids.lost, undefined, null],
  ])
  t.strictSame(after[0], before[0], 'what the present key sealed')
  t.strictSame(after[4], before[4], 'what no key opens')
  await resealSecrets({ db, vault, log: openLog('silent') })
  t.strictSame(await stored(), after, 'once is enough')
})
