import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { databaseUnavailable } from '../db/database.ts'
import type { Tokens } from '../providers/provider.ts'
import { type SealedTokens, sealTokens } from './grants.ts'
import type { OAuthParts } from './parts.ts'

// A refresh that rotates leaves one pair of tokens that works, and it is in this process alone until it is stored. While
// the database does not answer it is kept in a file, sealed as in the database.

/** A refreshed pair, sealed for the version after the one that was refreshed. */
interface Refreshed {
  readonly grantId: string
  /** That was refreshed: newer tokens in the database win. */
  readonly version: number
  readonly tokens: SealedTokens
  /** Epoch milliseconds, and how long the access token is valid from then; null: not known. */
  readonly atMs: number
  readonly accessSeconds: number | null
  readonly scope: string | null
}

type Parts = Pick<OAuthParts, 'db' | 'log' | 'settings'>

const AGAIN_MS = 1_000
const FILE = /^refreshed-[0-9a-f-]{36}-\d+-[0-9a-f]{8}\.json$/

/**
 * Stores a refreshed pair, however long the database is not available. `soon`: whether it was stored at once, and used;
 * false when newer tokens are there. Rejects when the database is not available, and `stored` settles once it was.
 */
export function saveRefreshed(
  parts: Parts & Pick<OAuthParts, 'vault'>,
  grant: { readonly id: string; readonly version: number },
  tokens: Tokens,
): { soon: Promise<boolean>; stored: Promise<unknown> } {
  const refreshed: Refreshed = {
    ...{ grantId: grant.id, version: grant.version, atMs: Date.now() },
    ...{ accessSeconds: tokens.accessSeconds, scope: tokens.scope },
    tokens: sealTokens(parts.vault, grant.id, grant.version + 1, tokens),
  }
  const soon = store(parts, refreshed)
  const stored = soon.catch(async (error: unknown) => {
    parts.log.error({ err: error, grant: grant.id }, 'refreshed tokens cannot be stored yet, and are kept in a file')
    const path = await keepInFile(parts.settings.dataDir, refreshed)
    await storeFile(parts, path, refreshed)
  })
  return { soon, stored }
}

// By the version alone: whoever was overtaken while it slept may have the only pair that works.
const STORE_SQL = `
  update provider_grant
  set key_id = $3, access = $4, refresh = $5, version = version + 1, refreshed_at = now(),
      access_until = now() + make_interval(secs => $6), scope = coalesce($7, scope), refresh_held_until = null,
      refresh_doubt = 0, refresh_due_at = null, refresh_failures = 0, refusals = 0, refused_since = null,
      refused_at = null
  where id = $1 and version = $2 and state = 'live'
  returning id`

/** Returns false when the grant has newer tokens, or ended. */
async function store({ db }: Parts, refreshed: Refreshed): Promise<boolean> {
  const { grantId, version, tokens, atMs, accessSeconds, scope } = refreshed
  const left = accessSeconds === null ? null : Math.max(0, accessSeconds - (Date.now() - atMs) / 1000)
  const { keyId, access, refresh } = tokens
  const stored = await db.query(STORE_SQL, [grantId, version, keyId, access, refresh, left, scope])
  return stored.length > 0
}

async function keepInFile(dataDir: string, refreshed: Refreshed): Promise<string> {
  const path = join(
    dataDir,
    `refreshed-${refreshed.grantId}-${refreshed.version}-${randomBytes(4).toString('hex')}.json`,
  )
  const draft = `${path}.new`
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const { access, refresh } = refreshed.tokens
  const tokens = {
    ...refreshed.tokens,
    ...{ access: access.toString('base64'), refresh: refresh?.toString('base64') ?? null },
  }
  await writeFile(draft, JSON.stringify({ ...refreshed, tokens }), { mode: 0o600, flush: true })
  // Complete, or not there.
  await rename(draft, path)
  return path
}

/** Until it is stored, or newer tokens are found. Stops with an error that no waiting mends. */
async function storeFile(parts: Parts, path: string, refreshed: Refreshed): Promise<void> {
  for (;;) {
    try {
      const stored = await store(parts, refreshed)
      await rm(path, { force: true })
      return parts.log.info({ grant: refreshed.grantId, stored }, 'refreshed tokens of a file were taken up')
    } catch (error) {
      if (!databaseUnavailable(error)) throw error
      await delay(AGAIN_MS)
    }
  }
}

/** Stores what an earlier run of this process left in files; damaged ones stay and are named in the log. */
export async function storeLeftBehind(parts: Parts): Promise<void> {
  const { dataDir } = parts.settings
  const names = await readdir(dataDir).catch((): string[] => [])
  for (const name of names.filter((one) => FILE.test(one))) {
    const path = join(dataDir, name)
    try {
      await storeFile(parts, path, parse(await readFile(path, 'utf8')))
    } catch (error) {
      parts.log.error({ err: error, file: path }, 'refreshed tokens of a file cannot be taken up')
    }
  }
}

function parse(text: string): Refreshed {
  const { tokens, ...rest } = JSON.parse(text)
  const bytes = (value: string) => Buffer.from(value, 'base64')
  const refresh = tokens.refresh === null ? null : bytes(tokens.refresh)
  return { ...rest, tokens: { keyId: tokens.keyId, access: bytes(tokens.access), refresh } }
}
