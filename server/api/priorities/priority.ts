import { Type } from 'typebox'
import { deviceTypes } from '../../catalogue/devices.ts'
import { providerByName, providers } from '../../catalogue/providers.ts'
import type { Database } from '../../db/database.ts'
import { errors } from '../../errors.ts'
import { Enum, Instant, Nullable, Uuid } from '../../http/schema.ts'

/** Number of a provider or device type, lower wins (contract 11). */
export const Priority = () => Type.Integer({ minimum: 1, maximum: 100 })

/** A provider that can be ranked: any but the sentinels. */
export const RankedProvider = () =>
  Enum(
    providers.filter(({ sentinel }) => !sentinel).map(({ provider }) => provider),
    { title: 'RankedProvider' },
  )

/** A device type of contract 2.3. */
export const DeviceTypeName = () => Enum(deviceTypes, { title: 'DeviceType' })

/** The ProviderPriorityResponse of contract 11. */
export const ProviderPriority = Type.Object(
  {
    provider: Type.String(),
    priority: Type.Integer(),
    id: Uuid(),
    created_at: Instant(),
    updated_at: Instant(),
    name: Nullable(Type.String()),
    icon_url: Nullable(Type.String()),
  },
  { title: 'ProviderPriority' },
)

/** The DeviceTypePriorityResponse of contract 11. */
export const DeviceTypePriority = Type.Object(
  {
    device_type: Type.String(),
    priority: Type.Integer(),
    id: Uuid(),
    created_at: Instant(),
    updated_at: Instant(),
  },
  { title: 'DeviceTypePriority' },
)

/** All providers with their numbers. */
export const ProviderPriorityList = Type.Object(
  { items: Type.Array(ProviderPriority) },
  { title: 'ProviderPriorityList' },
)

/** All device types with their numbers. */
export const DeviceTypePriorityList = Type.Object(
  { items: Type.Array(DeviceTypePriority) },
  { title: 'DeviceTypePriorityList' },
)

/** The new number of one of them. */
export const PriorityFields = Type.Object({ priority: Priority() }, { title: 'PriorityFields' })

const times = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z' }

/** A `ProviderPriority` for the API description. */
export const providerPriorityExample = {
  provider: 'apple',
  priority: 1,
  id: 'e1f2a0b4-6d3b-4f0e-9a55-2f4f3f1f6c11',
  ...times,
  name: 'Apple Health',
  icon_url: '/static/provider-icons/apple.svg',
}

/** A `DeviceTypePriority` for the API description. */
export const deviceTypePriorityExample = {
  device_type: 'watch',
  priority: 1,
  id: 'f2a0b4e1-6d3b-4f0e-9a55-2f4f3f1f6c11',
  ...times,
}

interface Stored {
  priority: number
  id: string
  created_at: string
  updated_at: string
}

/** Providers by priority, best first. */
export async function readProviders(db: Database) {
  const rows = await db.query<Stored & { provider: string }>(
    'select provider, priority, id, created_at, updated_at from provider_priority order by priority, provider',
  )
  return rows.map((row) => ({
    ...row,
    name: providerByName.get(row.provider)?.name ?? null,
    icon_url: providerByName.has(row.provider) ? `/static/provider-icons/${row.provider}.svg` : null,
  }))
}

/** Device types by priority, best first. */
export const readDeviceTypes = (db: Database) =>
  db.query<Stored & { device_type: string }>(
    'select device_type, priority, id, created_at, updated_at from device_type_priority order by priority, device_type',
  )

const PUT_SQL = (table: string, key: string) => `
  with changed as (
    insert into ${table} as p (${key}, priority)
    select * from unnest($1::text[], $2::int4[])
    on conflict (${key}) do update set priority = excluded.priority, updated_at = now()
    where p.priority <> excluded.priority
    returning 1
  )
  update ranking set revision = revision + 1 where exists (select from changed)`

const PUT_PROVIDERS_SQL = PUT_SQL('provider_priority', 'provider')
const PUT_DEVICE_TYPES_SQL = PUT_SQL('device_type_priority', 'device_type')

/** Sets priorities and invalidates the answers that depend on them. @throws AppError bad_request for duplicates */
export const writeProviders = (db: Database, items: readonly { provider: string; priority: number }[]) =>
  write(
    db,
    PUT_PROVIDERS_SQL,
    items.map(({ provider, priority }) => [provider, priority]),
  )

/** Sets priorities and invalidates the answers that depend on them. @throws AppError bad_request for duplicates */
export const writeDeviceTypes = (db: Database, items: readonly { device_type: string; priority: number }[]) =>
  write(
    db,
    PUT_DEVICE_TYPES_SQL,
    items.map(({ device_type, priority }) => [device_type, priority]),
  )

async function write(db: Database, sql: string, items: readonly [key: string, priority: number][]): Promise<void> {
  const keys = items.map(([key]) => key)
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  if (twice !== undefined) throw errors.badRequest(`'${twice}' is listed twice`)
  await db.transaction(async (tx) => {
    // The row that all writers lock first, so that they never wait for each other, whatever the order of their items.
    await tx.query('select from ranking for update')
    await tx.query(sql, [keys, items.map(([, priority]) => priority)])
  })
}
