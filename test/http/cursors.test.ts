// Cursors are signed with HMAC-SHA256, as Node computes it.
import { createHmac, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { readCursor, writeCursor } from '../../server/http/cursors.ts'
import { anyCharacter } from '../support/text.ts'

t.test('a cursor has the first nine bytes of the HMAC of its scope and its text', async (t) => {
  const id = fc.stringMatching(/^[0-9a-f.-]{1,40}$/)
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter, maxLength: 300 }),
      id,
      fc.boolean(),
      fc.nat(),
      (scope, id, backward, total) => {
        const key = new Uint8Array(randomBytes(32))
        const mark = { at: '2026-02-24T08:30:00Z', id, backward, total }
        const cursor = writeCursor(key, scope, mark)
        t.strictSame(readCursor(key, scope, cursor), mark)
        const text = `${mark.at}|${id}|${total}`
        const mac = createHmac('sha256', key)
          .update(`${scope}\n${backward ? 'prev_' : ''}${text}`)
          .digest()
          .subarray(0, 9)
          .toString('base64url')
        t.equal(Buffer.from(cursor.replace(/^prev_/, ''), 'base64url').toString(), `${text}|${mac}`)
        t.throws(() => readCursor(key, `${scope}.`, cursor), /cursor/i)
        t.throws(() => readCursor(new Uint8Array(randomBytes(32)), scope, cursor), /cursor/i)
      },
    ),
  )
})
