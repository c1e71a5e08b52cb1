// Finding a route by segments finds what trying every pattern finds.
import assert from 'node:assert/strict'
import Router from '@koa/router'
import fc from 'fast-check'
import t from 'tap'
import { routes } from '../../server/api/index.ts'
import { SegmentRouter } from '../../server/http/segments.ts'
import { runs } from '../support/thorough.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const paths = [
  ...routes
    .flatMap(({ path, otherPath = path }) => [path, otherPath])
    .map((path) => path.replaceAll(/\{(\w+)\}/g, ':$1')),
  ...['/', '/console', '/console/{*below}', '/docs/:file', '/docs/start.js', '/a{/:b}/c'],
]

t.test('a path has the routes that its patterns have', async (t) => {
  const [plain, quick] = [new Router({ sensitive: true }), new SegmentRouter({ sensitive: true })]
  const register = (path: string, index: number) => {
    const methods = [(METHODS[index % 3] as string).toLowerCase()]
    for (const router of [plain, quick]) router.register(path, methods, () => {})
  }
  paths.forEach(register)
  const found = (router: Router, path: string, method: string) => {
    const { path: matched, pathAndMethod, route } = router.match(path, method)
    return { matched: matched.map((layer) => layer.path), both: pathAndMethod.map((layer) => layer.path), route }
  }
  const literals = [...new Set(paths.flatMap((path) => path.split('/')).filter((part) => /^[\w.-]+$/.test(part)))]
  const segment = fc.oneof(fc.constantFrom(...literals, '', 'x', '%2F', 'USERS', ':id', '__proto__'), fc.string())
  const filled = fc
    .tuple(fc.constantFrom(...paths), segment)
    .map(([path, value]) => path.replaceAll(/[:{*]+\w+}?/g, value))
  const anything = fc.array(segment, { maxLength: 7 }).map((parts) => `/${parts.join('/')}`)
  const path = fc.tuple(fc.oneof(filled, anything), fc.constantFrom('', '/', '//')).map((parts) => parts.join(''))
  fc.assert(
    fc.property(path, fc.constantFrom(...METHODS, 'get'), (path, method) => {
      assert.deepStrictEqual(found(quick, path, method), found(plain, path, method), `${method} ${path}`)
    }),
    { numRuns: runs(2_000, 100_000) },
  )
  t.strictSame(found(quick, '/added', 'GET').matched, [])
  register('/added', 0)
  t.strictSame(found(quick, '/added', 'GET').matched, ['/added'], 'one that is added later')
})
