// npm run console:dev: the console in front of a running service, built anew at each change; the page loads itself again.
import { request } from 'node:http'
import { context } from 'esbuild'
import Koa, { type Context } from 'koa'
import { BUNDLE, type ConsoleFiles, filesOf } from '../server/console-build.ts'
import { consoleRouter } from '../server/http/console.ts'

const PORT = Number(process.env.CONSOLE_DEV_PORT || 8001)
/** The service that answers everything but the console. */
const SERVICE = new URL(process.env.API_BASE_URL || 'http://localhost:8000')

/** The page names its files by their content, so it changes whenever they do. */
const RELOAD = `{
  let shown
  setInterval(async () => {
    const page = await fetch('/console').then((answer) => answer.text(), () => shown)
    if (shown !== undefined && page !== shown) location.reload()
    shown = page
  }, 500)
}`

const say = (line: string) => process.stdout.write(`${line}\n`)

let files: ConsoleFiles | undefined
const bundler = await context({
  ...BUNDLE,
  minify: false,
  sourcemap: 'inline',
  footer: { js: `if (import.meta.url.includes('/main-')) ${RELOAD}` },
  logLevel: 'warning',
  plugins: [
    {
      name: 'serve',
      setup: ({ onEnd }) =>
        onEnd(async ({ errors, outputFiles, metafile }) => {
          if (errors.length > 0 || !outputFiles || !metafile) return
          files = await filesOf({ outputFiles, metafile })
          say(`built at ${new Date().toLocaleTimeString()}`)
        }),
    },
  ],
})

/** Passes a request on to the service, and its answer back; streams as well. */
function pass(ctx: Context): Promise<void> {
  return new Promise((resolve) => {
    const { method, url: path, headers } = ctx.req
    ctx.respond = false
    const sent = request({ host: SERVICE.hostname, port: SERVICE.port || 80, method, path, headers }, (answer) => {
      ctx.res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(ctx.res).once('close', resolve)
    })
    sent.once('error', (error) => {
      ctx.res.writeHead(502, { 'Content-Type': 'application/json' }).end(JSON.stringify({ detail: error.message }))
      resolve()
    })
    ctx.res.once('close', () => sent.destroy())
    ctx.req.pipe(sent)
  })
}

const unbuilt = () => Promise.reject(new Error('not built yet'))
const server = new Koa()
server.use(consoleRouter({ files: () => (files ? Promise.resolve(files) : unbuilt()) }).routes())
server.use(pass)
await bundler.watch()
server.listen(PORT, '127.0.0.1', () =>
  say(`The console is at http://localhost:${PORT}/console, before ${SERVICE.origin}.`),
)
