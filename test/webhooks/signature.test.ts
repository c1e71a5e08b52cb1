// Verifies deliveries with the libraries that receivers use.
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import t from 'tap'
import { newSecret, sealSecret } from '../../server/webhooks/secrets.ts'
import { signature } from '../../server/webhooks/sign.ts'
import { createTestDatabase } from '../support/app.ts'
import { engines } from '../support/servers.ts'
import {
  createEndpoint,
  openTestDatabase,
  type Received,
  recordEvents,
  startDelivering,
  startReceiver,
  VAULT,
} from '../support/webhooks.ts'

/** The names of the three headers in each library. */
const LIBRARIES = [
  { name: 'standardwebhooks', prefix: 'webhook', Verifier: StandardWebhook },
  { name: 'svix', prefix: 'svix', Verifier: SvixWebhook },
] as const

type Signed = Pick<Received, 'id' | 'timestamp' | 'signature' | 'body'>

/** Throws if the library rejects the call. */
function verify({ prefix, Verifier }: (typeof LIBRARIES)[number], secret: string, call: Signed): void {
  new Verifier(secret).verify(call.body, {
    [`${prefix}-id`]: call.id,
    [`${prefix}-timestamp`]: String(call.timestamp),
    [`${prefix}-signature`]: call.signature,
  })
}

t.test('the vector of contract 10.6', async (t) => {
  t.equal(
    signature(
      ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1_614_265_330,
      Buffer.from('{"test": 2432232314}'),
    ),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

t.test('a delivery is accepted by the usual libraries, one that was changed or is old is not', async (t) => {
  const [engine] = engines()
  if (!engine) throw new Error('no engine')
  const url = await createTestDatabase(t, engine)
  const db = openTestDatabase(t, url)
  const receiver = await startReceiver(t)
  const endpoint = await createEndpoint(db, receiver.origin)
  await startDelivering(t, url)
  await recordEvents(db, [{ data: { name: 'Zoë 🏃', value: 1.5 } }])
  const [call] = (await receiver.got(1)) as [Received]
  for (const library of LIBRARIES) {
    t.doesNotThrow(() => verify(library, endpoint.secret, call), library.name)
    const refuses = (change: Partial<Signed>, secret = endpoint.secret) =>
      t.throws(() => verify(library, secret, { ...call, ...change }), `${library.name}: ${Object.keys(change)}`)
    refuses({ body: call.body.replace('1.5', '1.6') })
    refuses({ id: `${call.id.slice(0, -1)}x` })
    refuses({ timestamp: call.timestamp + 1 })
    refuses({ signature: call.signature.replace(/^v1,(.)/, (_, first) => `v1,${first === 'A' ? 'B' : 'A'}`) })
    refuses({}, newSecret())
    const old = call.timestamp - 360
    refuses({ timestamp: old, signature: signature([endpoint.secret], call.id, old, Buffer.from(call.body)) })
  }

  await t.test('while a secret is being changed, both sign', async (t) => {
    const changed = newSecret()
    const { keyId, sealed } = sealSecret(VAULT, endpoint.uid, changed)
    await db.query(
      `update endpoint
       set former_secret = secret, former_key_id = key_id, former_until = now() + interval '1 day',
           secret = $2, key_id = $3
       where id = $1`,
      [endpoint.id, sealed, keyId],
    )
    // What is read in the very moment of the change may still be signed as before.
    let got = 1
    let both: Received
    do {
      await recordEvents(db, [{}])
      both = (await receiver.got(++got))[got - 1] as Received
    } while (both.signature.split(' ').length === 1 && got < 10)
    t.equal(both.signature.split(' ').length, 2)
    for (const library of LIBRARIES)
      for (const secret of [changed, endpoint.secret]) t.doesNotThrow(() => verify(library, secret, both), library.name)
    await db.query(`update endpoint set former_until = now() - interval '1 second', url = url || '/x' where id = $1`, [
      endpoint.id,
    ])
    await recordEvents(db, [{}])
    const one = (await receiver.got(got + 1))[got] as Received
    t.equal(one.signature.split(' ').length, 1)
    for (const library of LIBRARIES) {
      t.doesNotThrow(() => verify(library, changed, one), library.name)
      t.throws(() => verify(library, endpoint.secret, one), 'the former one no longer does')
    }
  })
})
