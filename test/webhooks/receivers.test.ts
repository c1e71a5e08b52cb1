// Runs the receivers shown in docs/webhooks.md: programs that verify signatures, and the content of events.
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { eventNames, seriesOfEvent } from '../../server/catalogue/events.ts'
import { freePort } from '../../server/db/embedded/server.ts'
import { exampleData } from '../../server/webhooks/examples.ts'
import { newSecret } from '../../server/webhooks/secrets.ts'
import { signature } from '../../server/webhooks/sign.ts'
import { until } from '../support/endpoints.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const page = await readFile(`${ROOT}docs/webhooks.md`, 'utf8')
const block = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page)?.[1] ?? ''

const USER = JSON.parse(exampleData('workout.created')).user_id
const BODY = Buffer.from(`{"type":"workout.created","data":${exampleData('workout.created')}}`)

/** Runs a receiver, and delivers calls that it must accept and others that it must refuse. */
async function checkReceiver(t: Test, command: string, args: string[]): Promise<void> {
  const [secret, former, port] = [newSecret(), newSecret(), await freePort()]
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { PATH, HOME, WEBHOOK_SECRET: secret, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let [printed, complaints] = ['', '']
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  child.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  const now = Math.floor(Date.now() / 1000)
  const deliver = async (id: string, headers: Record<string, string> = {}, body = BODY, secrets = [secret]) => {
    const signed = { 'hook-id': id, 'hook-timestamp': String(now), 'hook-signature': signature(secrets, id, now, body) }
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { ...signed, ...headers },
      body,
    })
    return answer.status
  }
  const listens = () =>
    deliver('msg_0', { 'hook-signature': 'v1,' }).then(
      () => true,
      () => child.exitCode !== null,
    )
  t.ok(await until(listens))
  t.equal(await deliver('msg_1'), 204, complaints)
  t.equal(await deliver('msg_1'), 204, 'again')
  t.equal(await deliver('msg_2', {}, BODY, [former, secret]), 204, 'with two signatures')
  t.ok(await until(() => printed.split('\n').length > 2))
  t.equal(printed, `workout.created ${USER}\n`.repeat(2), 'each once')
  t.equal(await deliver('msg_3', {}, BODY, [former]), 401, 'another secret')
  t.equal(await deliver('msg_3', { 'hook-id': 'msg_4' }), 401, 'another id')
  t.equal(await deliver('msg_3', { 'hook-signature': '' }), 401, 'no signature')
  const old = now - 301
  const late = { 'hook-timestamp': String(old), 'hook-signature': signature([secret], 'msg_3', old, BODY) }
  t.equal(await deliver('msg_3', late), 401, 'five minutes late')
  const changed = { 'hook-signature': signature([secret], 'msg_3', now, BODY) }
  t.equal(await deliver('msg_3', changed, Buffer.concat([BODY, Buffer.from(' ')])), 401, 'another body')
  t.equal(printed, `workout.created ${USER}\n`.repeat(2))
}

t.test('the program in TypeScript, with either library', async (t) => {
  // Beside the project's packages, which it imports.
  const folder = await mkdtemp(join(ROOT, '.tap', 'receiver-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const code = block('ts')
  const programs = {
    standardwebhooks: code,
    svix: code.replace("'standardwebhooks'", "'svix'").replaceAll("'webhook-", "'svix-"),
  }
  for (const [library, program] of Object.entries(programs)) {
    await t.test(library, async (t) => {
      t.equal(program.split(`from '${library}'`).length, 2)
      const file = join(folder, `${library}.ts`)
      await writeFile(file, program)
      await checkReceiver(t, process.execPath, ['--import', './server/typescript.mjs', file])
    })
  }
})

t.test('the program in Python', async (t) => {
  const python = await promisify(execFile)('python3', ['--version']).catch(() => undefined)
  if (!python) {
    t.comment('there is no python3 here: not run')
    return
  }
  await checkReceiver(t, 'python3', ['-c', block('py')])
})

t.test('the fields and series types of events are those that are sent', async (t) => {
  const cellsOf = (name: string) =>
    [...page.matchAll(new RegExp(`^\\| \`${name.replace('.', '\\.')}\` +\\| (.*) \\|$`, 'gm'))].map(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word),
    )
  const session = 'id user_id start_time end_time zone_offset source'.split(' ')
  for (const name of eventNames) {
    const [cell = []] = cellsOf(name)
    const series = seriesOfEvent(name)
    if (series.length > 0) {
      const documented = cell.flatMap((word) =>
        word.endsWith('…') ? series.filter((type) => type.startsWith(word.slice(0, -1))) : word,
      )
      t.strictSame(documented.sort(), [...series].sort(), name)
    } else {
      const ofSession = name.startsWith('connection.') ? [] : session
      t.strictSame([...ofSession, ...cell].sort(), Object.keys(JSON.parse(exampleData(name))).sort(), name)
    }
  }
})
