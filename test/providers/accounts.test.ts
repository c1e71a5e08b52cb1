// Whom a notice is about, found without reading it.
import t from 'tap'
import { valuesOf } from '../../server/providers/accounts.ts'

const accounts = (text: string) => valuesOf('userId')(Buffer.from(text))

t.test('all values of the field are found, wherever it is and however it is written', async (t) => {
  t.strictSame(accounts('{"a":[{"userId":"x-1"},{"userId" :\n "y"}],"b":{"c":{"userId":"x-1"}}}'), ['x-1', 'y'])
  t.strictSame(accounts('{"userId":123,"more":{"userId":-4.5e1}}'), ['123', '-45'])
  t.strictSame(accounts('{"userId":12345678901234567890}'), ['12345678901234567890'])
  t.strictSame(accounts('{"\\u0075ser\\u0049d":"\\u0061nna"}'), ['anna'])
  t.strictSame(accounts('{"userId":"a\\"b\\\\","userId":"ä\\u00fc\\u20ac"}'), ['a"b\\', 'äü€'])
  t.strictSame(accounts('{"userId":"a'), [])
  t.strictSame(accounts('{"user":"userId","userid":"x","xuserId":"y","userId":null,"userId":{"z":1}}'), [])
  t.strictSame(accounts(''), [])
})
