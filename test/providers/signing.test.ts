// What notices are verified with.
import { createHmac } from 'node:crypto'
import t from 'tap'
import { fromBase64, fromHex, isRecent, isSame, isSignedBy } from '../../server/providers/signing.ts'

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest()

t.test('a signature is that of one of the secrets, over all pieces in their order', async (t) => {
  const good = hmac('secret', '17{"a":1}')
  const body = Buffer.from('{"a":1}')
  const cases: [boolean, Parameters<typeof isSignedBy>][] = [
    [true, [['secret'], ['17', body], good]],
    [true, [['new', 'secret'], ['17', body], good]],
    [true, [[null, undefined, '', 'secret'], ['17', body], good]],
    [false, [['secret'], [body, '17'], good]],
    [false, [['secret'], ['18', body], good]],
    [false, [['other'], ['17', body], good]],
    [false, [[], ['17', body], good]],
    [false, [[null, undefined, ''], ['17', body], hmac('', '17{"a":1}')]],
    [false, [['secret'], ['17', body], undefined]],
    [false, [['secret'], ['17', body], good.subarray(0, 31)]],
    [false, [['secret'], ['17', body], Buffer.concat([good, Buffer.alloc(1)])]],
    [false, [['secret'], ['17', body], Buffer.alloc(0)]],
  ]
  t.strictSame(
    cases.map(([, args]) => isSignedBy(...args)),
    cases.map(([expected]) => expected),
  )
})

t.test('the bytes of a signature are written in one way', async (t) => {
  const bytes = hmac('secret', 'text')
  const hex = bytes.toString('hex')
  const base64 = bytes.toString('base64')
  t.strictSame([fromHex(hex), fromHex(hex.toUpperCase())], [bytes, bytes])
  t.strictSame(fromBase64(base64), bytes)
  // The last character before the padding carries two bits that mean nothing: another one is another text.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const spare = `${base64.slice(0, 42)}${alphabet[alphabet.indexOf(base64[42] ?? '') + 1]}=`
  const noHex = ['', hex.slice(1), `${hex}0`, `0x${hex.slice(2)}`, ` ${hex.slice(1)}`, 'g'.repeat(64), undefined]
  const noBase64 = [
    '',
    base64.slice(0, 43),
    `${base64}=`,
    base64.replace('=', '\n'),
    spare,
    base64.toLowerCase(),
    undefined,
  ]
  t.strictSame(
    [...noHex.map(fromHex), ...noBase64.slice(0, 5).map(fromBase64)].filter((one) => one !== undefined),
    [],
  )
  // Of another case are other bytes, if any.
  t.notSame(fromBase64(base64.toLowerCase()), bytes)
})

t.test('texts are the same only if there are any', async (t) => {
  t.strictSame([isSame('a', 'a'), isSame('é', 'é')], [true, true])
  const others: Parameters<typeof isSame>[] = [
    ['a', 'b'],
    ['a', 'A'],
    ['a', 'a '],
    ['', ''],
    [undefined, undefined],
    [null, null],
    ['a', undefined],
    [undefined, 'a'],
  ]
  t.strictSame(
    others.filter((pair) => isSame(...pair)),
    [],
  )
})

t.test('a time is recent within the tolerance, in seconds or milliseconds', async (t) => {
  const now = 1_772_867_500
  const near = [`${now}`, `${now - 300}`, `${now + 300}`, `${now}000`, `${now - 300}000`, `${now}123`]
  const far = [
    `${now - 301}`,
    `${now + 301}`,
    `${now - 301}000`,
    '',
    ' ',
    'now',
    `${now}.0`,
    `-${now}`,
    `+${now}`,
    '1e9',
    `0x1`,
  ]
  t.strictSame(
    near.filter((time) => !isRecent(time, now)),
    [],
  )
  t.strictSame(
    [...far, undefined].filter((time) => isRecent(time, now)),
    [],
  )
  t.ok(isRecent(`${now - 3_600}`, now, 3_600))
})
