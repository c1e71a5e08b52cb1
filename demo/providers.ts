import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Api, Refused } from './client.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** The key by which the simulator connects its people: one, with a new secret each time. */
const KEY = 'Demo data: simulated providers'
/** How the simulator names its people (docs/simulator.md). */
const PREFIX = 'simulated-'
/** Users of a page. */
const PAGE = 100

interface ApiKey {
  readonly id: string
  readonly name: string
  readonly key: string
}

/**
 * Connects people of the simulator to their providers, as its own command does, and lets it go on until it is
 * interrupted; one that listens already is used. Returns the exit code of the command. @throws Refused, TypeError
 */
export async function addSimulated(
  api: Api,
  url: string,
  more: readonly string[] = ['--people', '3'],
): Promise<number> {
  const known = await ownKey(api)
  const { key } = known
    ? await api.call<ApiKey>('POST', `/developer/api-keys/${known.id}/rotate`)
    : await api.call<ApiKey>('POST', '/developer/api-keys', { body: { name: KEY } })
  const command = [...process.execArgv, 'simulator/main.ts', '--connect', url, '--key', key, ...more]
  const child = spawn(process.execPath, command, { cwd: ROOT, stdio: 'inherit' })
  // The terminal interrupts both; this one ends with the other.
  const wait = () => {}
  process.on('SIGINT', wait)
  const [code] = await once(child, 'exit')
  process.off('SIGINT', wait)
  return code ?? 1
}

/** Removes the people of the simulator with everything of theirs, and their key. Returns how many there were. */
export async function removeSimulated(api: Api): Promise<number> {
  let removed = 0
  for (const id of await simulated(api)) {
    await api.call('DELETE', `/users/${id}`).catch((error: unknown) => {
      if (!(error instanceof Refused) || error.status !== 404) throw error
    })
    removed++
  }
  const known = await ownKey(api)
  if (known) await api.call('DELETE', `/developer/api-keys/${known.id}`)
  return removed
}

async function simulated(api: Api): Promise<string[]> {
  const ids: string[] = []
  for (let page = 1; ; page++) {
    const path = `/users?sort_by=created_at&limit=${PAGE}&page=${page}`
    const { items } = await api.call<{ items: { id: string; external_user_id: string | null }[] }>('GET', path)
    ids.push(...items.filter((one) => one.external_user_id?.startsWith(PREFIX)).map(({ id }) => id))
    if (items.length < PAGE) return ids
  }
}

async function ownKey(api: Api): Promise<ApiKey | undefined> {
  return (await api.call<ApiKey[]>('GET', '/developer/api-keys')).find(({ name }) => name === KEY)
}
