import { randomBytes } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { makeFolder } from '../folder.ts'
import type { Tokens } from '../providers/provider.ts'
import { type SealedTokens, sealTokens } from './grants.ts'
import type { OAuthParts } from './parts.ts'

// A refresh that rotates leaves one pair of tokens that works, and it is in this process alone until it is stored.
// Whatever keeps it from that is tried again for as long as the process lives; meanwhile the pair is in a file, sealed as
// in the database, for the next process.

/** A refreshed pair, sealed for the version after the one that was refreshed. */
interface Refreshed {
  readonly grantId: string
  /** That was refreshed: newer tokens in the database win. */
  readonly version: number
  readonly tokens: SealedTokens
  /** Epoch milliseconds, and how long the access token is valid from then; null: not known. */
  readonly atMs: number
  readonly accessSeconds: number | null
}

type Parts = Pick<OAuthParts, 'saving' | 'log' | 'settings'>

/** Until a pair is stored again after a failure; then twice as long each time, up to the longest. */
const AGAIN_MS = 250
const LONGEST_MS = 10_000
const FILE = /^refreshed-[0-9a-f-]{36}-\d+-[0-9a-f]{8}\.json$/

/**
 * Stores a refreshed pair, however long that takes. `soon`: whether it was stored at once, and is used; false when newer
 * tokens are there. It rejects when it could not be stored at once; `stored` settles once it was.
 */
export function saveRefreshed(
  parts: Parts & Pick<OAuthParts, 'vault'>,
  grant: { readonly id: string; readonly version: number },
  tokens: Tokens,
): { soon: Promise<boolean>; stored: Promise<unknown> } {
  const refreshed: Refreshed = {
    ...{ grantId: grant.id, version: grant.version, atMs: Date.now() },
    accessSeconds: tokens.accessSeconds,
    tokens: sealTokens(parts.vault, grant.id, grant.version + 1, tokens),
  }
  const soon = store(parts, refreshed)
  const stored = soon.catch(async (error: unknown) => {
    const path = await keepInFile(parts, refreshed, error)
    await storeAtLast(parts, refreshed, path, String(error))
  })
  return { soon, stored }
}

// By the version alone: whoever was overtaken while it slept may have the only pair that works. What was granted stays as
// the consent said: a refresh asks for no scope or for `offline`, and some providers then name that one only.
const STORE_SQL = `
  update provider_grant
  set key_id = $3, access = $4, refresh = $5, version = version + 1, refreshed_at = now(),
      access_until = now() + make_interval(secs => $6), refresh_held_until = null, refresh_doubt = 0,
      refresh_due_at = null, refresh_failures = 0, refusals = 0, refused_since = null, refused_at = null,
      pause_error = null, pause_settings = null
  where id = $1 and version = $2 and state = 'live'
  returning id`

/** Returns false when the grant has newer tokens, or ended. */
async function store({ saving }: Parts, refreshed: Refreshed): Promise<boolean> {
  const { grantId, version, tokens, atMs, accessSeconds } = refreshed
  const left = accessSeconds === null ? null : Math.max(0, accessSeconds - (Date.now() - atMs) / 1000)
  const { keyId, access, refresh } = tokens
  const stored = await saving.query(STORE_SQL, [grantId, version, keyId, access, refresh, left])
  return stored.length > 0
}

/** Returns the path of the file; undefined when there can be none. Says in the log which of both, and why. */
async function keepInFile({ log, settings }: Parts, refreshed: Refreshed, error: unknown): Promise<string | undefined> {
  const { grantId: grant } = refreshed
  try {
    const path = await writeFileOf(settings.dataDir, refreshed)
    log.error({ err: error, grant }, 'refreshed tokens cannot be stored yet, and are kept in a file')
    return path
  } catch (fileError) {
    const text = 'refreshed tokens can neither be stored nor written to DATA_DIR: they are lost if this process ends'
    log.error({ err: error, fileError: String(fileError), grant }, text)
    return undefined
  }
}

async function writeFileOf(dataDir: string, refreshed: Refreshed): Promise<string> {
  const path = join(
    dataDir,
    `refreshed-${refreshed.grantId}-${refreshed.version}-${randomBytes(4).toString('hex')}.json`,
  )
  const draft = `${path}.new`
  await makeFolder(dataDir, 0o700)
  const { access, refresh } = refreshed.tokens
  const tokens = {
    ...refreshed.tokens,
    ...{ access: access.toString('base64'), refresh: refresh?.toString('base64') ?? null },
  }
  try {
    await writeFile(draft, JSON.stringify({ ...refreshed, tokens }), { mode: 0o600, flush: true })
    // Complete, or not there.
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {})
    throw error
  }
  return path
}

/** Until it is stored, newer tokens are found, or the process ends, which closes its database. `known`: a logged error. */
async function storeAtLast(parts: Parts, refreshed: Refreshed, path: string | undefined, known = ''): Promise<void> {
  const { log, saving } = parts
  const { grantId: grant } = refreshed
  let last = known
  for (let waitMs = AGAIN_MS; !saving.pool.ending; waitMs = Math.min(waitMs * 2, LONGEST_MS)) {
    try {
      const used = await store(parts, refreshed)
      log.info({ grant, used }, 'refreshed tokens are stored now')
      if (path !== undefined)
        await rm(path).catch((err: Error) => log.warn({ err, file: path }, 'a file cannot be removed'))
      return
    } catch (error) {
      if (String(error) !== last) log.warn({ err: error, grant }, 'refreshed tokens still cannot be stored')
      last = String(error)
      await delay(waitMs)
    }
  }
}

/** Stores what an earlier process left in files; damaged ones stay and are named in the log. */
export async function storeLeftBehind(parts: Parts): Promise<void> {
  const { dataDir } = parts.settings
  const names = await readdir(dataDir).catch((): string[] => [])
  const store = async (path: string) => {
    try {
      await storeAtLast(parts, parse(await readFile(path, 'utf8')), path)
    } catch (error) {
      parts.log.error({ err: error, file: path }, 'refreshed tokens of a file cannot be taken up')
    }
  }
  await Promise.all(names.filter((name) => FILE.test(name)).map((name) => store(join(dataDir, name))))
}

function parse(text: string): Refreshed {
  const { tokens, ...rest } = JSON.parse(text)
  const bytes = (value: string) => Buffer.from(value, 'base64')
  const refresh = tokens.refresh === null ? null : bytes(tokens.refresh)
  return { ...rest, tokens: { keyId: tokens.keyId, access: bytes(tokens.access), refresh } }
}
