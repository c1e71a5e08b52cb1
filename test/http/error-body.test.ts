import fc from 'fast-check'
import t from 'tap'
import { errors, type Issue } from '../../server/errors.ts'
import { errorBody } from '../../server/http/error-body.ts'

const text = fc.oneof(
  fc.string({ maxLength: 50 }),
  fc.tuple(fc.constantFrom('x', '\0', '\u2028', '\ud800', '"', '😀'), fc.nat(20_000)).map(([one, n]) => one.repeat(n)),
)
const value = fc.letrec((tie) => ({
  any: fc.oneof({ maxDepth: 5 }, text, fc.double(), fc.constant(null), tie('list'), tie('object')),
  list: fc.array(tie('any'), { maxLength: 12 }),
  object: fc.dictionary(text, tie('any'), { maxKeys: 12 }),
})).any

const issue: fc.Arbitrary<Issue> = fc.record({
  type: fc.constant('enum'),
  loc: fc.array(fc.oneof(text, fc.nat()), { maxLength: 5 }),
  msg: fc.oneof(text, fc.constant('a message that is given often. '.repeat(100))),
  input: value,
  ctx: fc.constant({ error: 'x' }),
})

t.test('the body of an error is small and complete JSON, whatever it is about', async (t) => {
  const lists = fc.tuple(fc.array(issue, { maxLength: 8 }), fc.integer({ min: 0, max: 40 }))
  const issuesAreListed = fc.assert(
    fc.asyncProperty(lists, async ([few, times]) => {
      const issues = Array.from({ length: times }, () => few).flat()
      const body = errorBody(errors.invalid(issues))
      const { detail } = JSON.parse(body)
      const last = detail.at(-1)
      const unlisted = last?.type === 'too_many_errors' ? last.ctx.unlisted : 0
      const listed = detail.length - (unlisted > 0 ? 1 : 0)
      if (Buffer.byteLength(body) >= 64 * 1024) throw new Error(`${Buffer.byteLength(body)} bytes`)
      if (listed + unlisted !== issues.length || listed > 50) throw new Error(`${listed} and ${unlisted}`)
      if (issues.length > 0 && listed === 0) throw new Error('none is listed')
    }),
    { numRuns: 60, seed: 5 },
  )
  await t.resolves(issuesAreListed)
  const textIsCut = fc.assert(
    fc.asyncProperty(text, async (detail) => {
      if (Buffer.byteLength(errorBody(errors.badRequest(detail))) > 16 * 1024) throw new Error('too large')
    }),
    { numRuns: 60, seed: 5 },
  )
  await t.resolves(textIsCut)
})
