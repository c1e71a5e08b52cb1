// A developer's URL must not lead into the operator's network.
import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { isIP } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { checkUrl, createGuard, type GuardSettings } from '../../server/webhooks/address-guard.ts'

const STRICT: GuardSettings = { allowHttp: false, allowNetworks: [] }
const PRIVATE = 'must not point to an address that is private or reserved'

t.test('public addresses and names may be endpoints', async (t) => {
  for (const url of [
    'https://example.org/hook?x=1',
    'https://example.org:8443/hook',
    'https://1.1.1.1/',
    'https://8.8.8.8./',
    'https://172.32.0.1/',
    'https://192.0.1.1/',
    'https://[2606:4700::1111]/',
    'https://[::ffff:8.8.8.8]/',
    'https://[64:ff9b::8.8.8.8]/',
    'https://localhost.example.org/',
    'https://xn--bcher-kva.example/',
  ])
    t.equal(checkUrl(url, STRICT), undefined, url)
})

t.test('addresses that are private or reserved may not, in any notation', async (t) => {
  const hosts = [
    // The first and last address of each IPv4 block.
    ...['0.0.0.0', '0.255.255.255', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.100.100.200', '100.127.255.255'],
    ...['127.0.0.1', '127.255.255.254', '168.63.129.16', '169.254.0.1', '169.254.169.254', '169.254.170.2'],
    ...['172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.0.192', '192.0.2.1', '192.31.196.1', '192.52.193.1'],
    ...['192.88.99.1', '192.168.0.1', '192.168.255.255', '192.175.48.1', '198.18.0.1', '198.19.255.255'],
    ...['198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    // 127.0.0.1 and 169.254.169.254 as number, octal, hexadecimal, short, and with a dot at the end.
    ...['2130706433', '0177.0.0.1', '0x7f.0.0.1', '0x7f000001', '017700000001', '127.1', '127.0.1', '127.0.0.1.'],
    ...['2852039166', '0xa9fea9fe', '0251.0376.0251.0376', '169.254.43518', '①②⑦.0.0.1', '127。0。0。1'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'api.localhost', 'a.b.localhost.'],
    ...['[::]', '[::1]', '[0:0:0:0:0:0:0:1]', '[::127.0.0.1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'],
    ...['[::ffff:169.254.169.254]', '[::ffff:a00:1]', '[::ffff:0:127.0.0.1]', '[::ffff:0.0.0.0]', '[::ffff:0:0]'],
    ...['[64:ff9b::127.0.0.1]', '[64:ff9b::a9fe:a9fe]', '[64:ff9b::10.0.0.1]', '[64:ff9b::]', '[64:ff9b:1::8.8.8.8]'],
    ...['[64:ff9b:1:ffff::1]', '[100::1]', '[100:0:0:1::1]', '[2001::1]', '[2001:0:7f00:1::]', '[2001:2::1]'],
    ...['[2001:10::1]', '[2001:20::1]', '[2001:db8::1]', '[2002:7f00:1::1]', '[2002:a9fe:a9fe::]', '[2002:808:808::1]'],
    ...['[2620:4f:8000::1]', '[3fff::1]', '[4000::1]', '[5f00::1]', '[fc00::1]', '[fd00:ec2::254]', '[fdff::1]'],
    ...['[fe80::1]', '[fec0::1]', '[feff::1]', '[ff02::1]', '[ff0e::1]'],
  ]
  for (const host of hosts) t.equal(checkUrl(`https://${host}/hook`, STRICT), PRIVATE, host)
})

t.test('what is no URL of an endpoint is told so', async (t) => {
  for (const url of [
    '',
    'example.org',
    '/hook',
    'ftp://example.org',
    'file:///etc/passwd',
    'https://',
    'https://[fe80::1%25eth0]/',
    'https://1.2.3.4.5/',
    'https://300.0.0.1/',
    'https://./',
  ])
    t.equal(checkUrl(url, STRICT), 'must be an absolute https URL', url)
  t.equal(checkUrl('http://example.org/', STRICT), 'must use https')
  t.equal(checkUrl('http://example.org/', { ...STRICT, allowHttp: true }), undefined)
  t.equal(checkUrl('https://me:secret@example.org/', STRICT), 'must not contain a user name or password')
})

t.test('networks that are allowed are, and no others', async (t) => {
  const settings = { ...STRICT, allowNetworks: ['10.1.0.0/16', '127.0.0.0/8', 'fd12::/16'] }
  for (const host of ['10.1.2.3', '127.0.0.1', 'localhost', '[::ffff:10.1.2.3]', '[64:ff9b::10.1.2.3]', '[fd12::1]'])
    t.equal(checkUrl(`https://${host}/`, settings), undefined, host)
  for (const host of ['10.2.0.1', '169.254.169.254', '[fd13::1]', '[::1]', '[::ffff:10.2.0.1]'])
    t.equal(checkUrl(`https://${host}/`, settings), PRIVATE, host)
})

t.test('IPv4 within IPv6 is judged as the IPv4 it leads to', async (t) => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const plain = checkUrl(`https://${address}/`, STRICT)
      t.equal(checkUrl(`https://[::ffff:${address}]/`, STRICT), plain, address)
      t.equal(checkUrl(`https://[64:ff9b::${address}]/`, STRICT), plain, address)
    }),
    { numRuns: 300, seed: 7 },
  )
})

t.test('a name is connected to only when every address of it may be', async (t) => {
  const names: Record<string, string[]> = {
    'good.example': ['93.184.216.34', '2606:2800:21f::1'],
    'bad.example': ['169.254.169.254'],
    'mixed.example': ['93.184.216.34', '10.0.0.1'],
    'mapped.example': ['::ffff:127.0.0.1'],
    'zoned.example': ['fe80::1%eth0'],
    'none.example': [],
  }
  const guard = createGuard(
    STRICT,
    resolver((name) => names[name]),
  )
  const look = (name: string) => lookedUp(guard, name)
  t.strictSame(await look('good.example'), ['93.184.216.34', '2606:2800:21f::1'], 'all of them, to connect to')
  for (const name of ['bad.example', 'mixed.example', 'mapped.example', 'zoned.example', 'none.example'])
    await t.rejects(look(name), { code: 'REFUSED_ADDRESS' }, name)
  await t.rejects(look('unknown.example'), { code: 'ENOTFOUND' })
})

t.test('a name that answers differently the second time is judged again', async (t) => {
  let asked = 0
  const guard = createGuard(
    STRICT,
    resolver(() => {
      asked += 1
      return asked === 1 ? ['93.184.216.34'] : ['127.0.0.1']
    }),
  )
  t.strictSame(await lookedUp(guard, 'rebind.example'), ['93.184.216.34'])
  await t.rejects(lookedUp(guard, 'rebind.example'), { code: 'REFUSED_ADDRESS' })
  t.equal(asked, 2)
})

t.test('connections that are opened at the same time ask once, and few names are asked for at once', async (t) => {
  const pending: (() => void)[] = []
  const asked: string[] = []
  const guard = createGuard(STRICT, ((name: string, _: LookupAllOptions, done: Done) => {
    asked.push(name)
    pending.push(() => done(null, [{ address: '93.184.216.34', family: 4 }]))
  }) as never)
  const looks = ['a', 'a', 'a', 'b', 'c', 'd'].map((name) => lookedUp(guard, `${name}.example`))
  t.strictSame(asked, ['a.example', 'b.example', 'c.example'])
  while (pending.length > 0) {
    pending.shift()?.()
    await Promise.resolve()
  }
  t.equal((await Promise.all(looks)).length, 6)
  t.strictSame(asked, ['a.example', 'b.example', 'c.example', 'd.example'])
})

t.test('names that hang do not hold up others', async (t) => {
  const asked: string[] = []
  const hanging: (() => void)[] = []
  let answerAtOnce = true
  const guard = createGuard(STRICT, ((name: string, _: LookupAllOptions, done: Done) => {
    asked.push(name)
    const answer = () => done(null, [{ address: '93.184.216.34', family: 4 }])
    if (!name.startsWith('dead')) setImmediate(answer)
    else if (answerAtOnce) setTimeout(answer, 1_050)
    else hanging.push(answer)
  }) as never)
  const dead = ['dead1.example', 'dead2.example', 'dead3.example', 'dead4.example']
  await Promise.all(dead.map((name) => lookedUp(guard, name)))
  answerAtOnce = false
  const waiting = dead.map((name) => lookedUp(guard, name))
  t.strictSame(asked.slice(4), ['dead1.example'], 'one at a time, now that they are known')
  t.strictSame(await lookedUp(guard, 'alive.example'), ['93.184.216.34'])
  while (hanging.length > 0) {
    hanging.shift()?.()
    await Promise.resolve()
  }
  t.equal((await Promise.all(waiting)).length, 4)
})

type Done = (error: Error | null, addresses: LookupAddress[]) => void

// Asynchronous, like the system's.
const resolver = (addressesOf: (name: string) => string[] | undefined) =>
  ((name: string, _: LookupAllOptions, done: Done) => {
    const addresses = addressesOf(name)
    setImmediate(() => {
      if (addresses)
        done(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        )
      else done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), [])
    })
  }) as never

function lookedUp(guard: ReturnType<typeof createGuard>, name: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    guard.lookup(name, { all: true }, (error, addresses) => {
      if (error) reject(error)
      else resolve((addresses as LookupAddress[]).map(({ address }) => address))
    })
  })
}
