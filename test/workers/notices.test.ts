// Notices are opened one by one: what is in one of them costs no other.
import t from 'tap'
import type { Notice, OpenedBody } from '../../server/providers/notices.ts'
import { openNotices } from '../../workers/notices.ts'

const notice = (account: unknown, key = 'k'): Notice => ({
  ...{ account: account as string, kind: 'fetch' },
  wish: { kind: 'object', object: 'workout', key, args: {} },
})

/** What a connector makes of each body. */
const opened = (...bodies: (string | Buffer)[]) =>
  openNotices(
    {
      open: ({ json, body, atMs, subscriptionIds }: OpenedBody) => {
        if (json === undefined) return 'malformed'
        const said = json as { throws?: true; many?: number; account?: unknown; key?: string; carries?: number }
        if (said.carries) return [{ account: '1', kind: 'data', stream: 'heart', body: new Uint8Array(said.carries) }]
        if (said.throws) throw new Error('a connector that fails')
        if (said.many) return Array.from({ length: said.many }, () => notice('1'))
        return 'account' in said ? [notice(said.account, said.key ?? `${body.length} ${atMs} ${subscriptionIds}`)] : []
      },
    },
    {
      subscriptionIds: ['7'],
      wantsSamples: false,
      bodies: bodies.map((body, at) => ({ body: Buffer.from(body), atMs: at })),
    },
  )

t.test('a body that cannot be read costs no other', async (t) => {
  const deep = `${'['.repeat(2_000)}${']'.repeat(2_000)}`
  const bodies = ['{"throws":true}', 'not JSON', deep, '', Buffer.from([0xff, 0xfe]), '{"many":10001}']
  t.strictSame(opened(...bodies, '{"account":"1"}', '{}'), [
    ...bodies.map(() => 'malformed' as const),
    [notice('1', '15 6 7')],
    [],
  ])
})

t.test('an account is text that can be stored', async (t) => {
  const accounts = ['', 1, null, {}, 'a\0b', '\ud800', 'x'.repeat(201)]
  t.strictSame(
    opened(...accounts.map((account) => JSON.stringify({ account }))),
    accounts.map(() => 'malformed'),
  )
  t.strictSame(opened(JSON.stringify({ account: '1', key: 'a\0b' })), ['malformed'], 'and so is what names a thing')
  t.match(opened(`{"account":"${2n ** 60n}"}`), [[{ account: '1152921504606846976' }]])
})

t.test('what became too large to be imported when it was split is told as such, and holds up no other', async (t) => {
  const [huge, fits, other] = opened('{"carries":34603008}', '{"carries":33554432}', '{"account":"1"}')
  t.ok(huge === 'malformed')
  t.equal(fits?.length, 1)
  t.equal(other?.length, 1)
})
