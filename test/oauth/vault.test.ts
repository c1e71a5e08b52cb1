import fc from 'fast-check'
import t from 'tap'
import { CannotOpen, openVault, type Place } from '../../server/vault.ts'

const KEY = 'b5a41d35f1c8b6a0e9d7c5b8d2f6c0b9'
const OTHER = '0e9d7c5b8d2f6c0b9e7a41d35f1c8b6a'
const PLACE: Place = { table: 'provider_grant', row: 'a', column: 'access', version: 3 }

t.test('a token opens in its row, column and version, with its key, and nowhere else', async (t) => {
  const vault = openVault(KEY)
  const value = vault.seal(PLACE, 'token')
  t.equal(vault.open(PLACE, value), 'token')
  const bytes = (change: (sealed: Buffer) => void) => {
    const sealed = Buffer.from(value.sealed)
    change(sealed)
    return sealed
  }
  const refused: [why: string, open: () => string][] = [
    ['another table', () => vault.open({ ...PLACE, table: 'provider_secret' }, value)],
    ['another row', () => vault.open({ ...PLACE, row: 'b' }, value)],
    ['another column', () => vault.open({ ...PLACE, column: 'refresh' }, value)],
    ['an earlier version', () => vault.open({ ...PLACE, version: 2 }, value)],
    ['parts that only look the same', () => vault.open({ ...PLACE, row: 'a","access', column: '' }, value)],
    ['another SECRET_KEY', () => openVault(OTHER).open(PLACE, value)],
    ['the id of another key', () => vault.open(PLACE, { ...value, keyId: openVault(OTHER).keyId })],
    ...Array.from(value.sealed, (_, at): [string, () => string] => [
      `byte ${at} changed`,
      () => vault.open(PLACE, { ...value, sealed: bytes((sealed) => sealed.writeUInt8(sealed.readUInt8(at) ^ 1, at)) }),
    ]),
    ...[0, 12, 28].map((length): [string, () => string] => [
      `cut to ${length} bytes`,
      () => vault.open(PLACE, { ...value, sealed: value.sealed.subarray(0, length) }),
    ]),
  ]
  const opened = refused.filter(([, open]) => {
    try {
      open()
      return true
    } catch (error) {
      return !(error instanceof CannotOpen) || /token"|: token/.test(error.message)
    }
  })
  t.strictSame(
    opened.map(([why]) => why),
    [],
  )
})

t.test('whatever is sealed comes back, and is never sealed alike', async () => {
  const vault = openVault(KEY)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(), (text, version) => {
      const place = { ...PLACE, version }
      const [one, two] = [vault.seal(place, text), vault.seal(place, text)]
      return vault.open(place, one) === text && !one.sealed.equals(two.sealed)
    }),
  )
})

t.test('the previous key opens, the present one seals', async (t) => {
  const before = openVault(OTHER)
  const now = openVault(KEY, OTHER)
  const value = before.seal(PLACE, 'token')
  t.equal(now.open(PLACE, value), 'token')
  t.equal(now.seal(PLACE, 'token').keyId, openVault(KEY).keyId)
  t.strictSame(new Set(now.keyIds), new Set([before.keyId, now.keyId]))
})
