import { createHash } from 'node:crypto'
import type { AnnouncedRows, ChangedSamples } from '../batch/changes.ts'
import { groupBy } from '../batch/group-by.ts'
import type { EventName } from '../catalogue/events.ts'
import type { Scope } from '../catalogue/scopes.ts'
import { storedSeries } from '../catalogue/series.ts'
import type { Transaction } from '../db/database.ts'
import type { Threads } from '../threads.ts'
import { isoInstant } from '../time.ts'
import { type NewEvent, recordEvents, type Wanted } from './record.ts'
import { eventOf, sessionEvents } from './session-events.ts'

/** The results of a batch of a user and provider that developers get events about. */
export interface BatchChanges {
  userId: string
  provider: string
  scope: Scope
  /** Rows that are named several times get one event. */
  rows: readonly AnnouncedRows[]
  samples: readonly ChangedSamples[]
  /** The connection it opened, if it did. */
  connected: { id: string; at: string } | null
}

/** Records the events of a batch in its transaction, if somebody wants them. */
export async function recordBatch(
  tx: Transaction,
  threads: Pick<Threads, 'sampleEvents'>,
  wanted: Wanted,
  batch: BatchChanges,
): Promise<void> {
  const events: NewEvent[] = []
  if (batch.connected && wanted('connection.created', 'live')) events.push(connectionCreated(batch, batch.connected))
  for (const [type, rows] of groupBy(batch.rows, ({ type }) => type)) {
    if (!wanted(eventOf(type), null)) continue
    const ids = rows.flatMap(({ announced }) => announced)
    const told = await sessionEvents(tx, type, ids, batch.scope)
    events.push(...told.filter(({ name, scope }) => wanted(name, scope)))
  }
  events.push(...(await samplesCreated(tx, threads, wanted, batch)))
  await recordEvents(tx, events)
}

/** The event of a connection that was opened, with its id and the instant: live, whatever the connection brings first. */
export function connectionCreated(
  { userId, provider }: Pick<BatchChanges, 'userId' | 'provider'>,
  { id, at }: { id: string; at: string },
): NewEvent {
  const data = { user_id: userId, provider, connection_id: id, connected_at: at }
  return {
    userId,
    provider,
    name: 'connection.created',
    key: `connection.created.${userId}.${provider}.${at}`,
    scope: 'live',
    data: Buffer.from(JSON.stringify(data)),
    packed: false,
  }
}

async function samplesCreated(
  tx: Transaction,
  threads: Pick<Threads, 'sampleEvents'>,
  wanted: Wanted,
  { userId, provider, scope, samples }: BatchChanges,
): Promise<NewEvent[]> {
  // Implausible values are in no event: a receiver that adds up samples would count them.
  const asked = samples.filter(({ seriesId }) => {
    const stored = storedSeries(seriesId)
    return stored && !stored.isImplausible && wanted(stored.series.event, scope)
  })
  if (asked.length === 0) return []
  const sources = await tx.rows<[id: number, device: string]>(
    'select id, device_model from data_source where id = any ($1)',
    [[...new Set(asked.map(({ sourceId }) => sourceId))]],
  )
  const devices = new Map(sources)
  const changed = asked.map(({ sourceId, seriesId, timeMs, value, zoneMin }) => {
    return { ...{ sourceId, seriesId, timeMs, value, zoneMin }, device: devices.get(sourceId) || null }
  })
  const events = await threads.sampleEvents({ provider, changed })
  return events.map(({ event, seriesType, firstMs, lastMs, chunk, data }) => {
    // Two sets of samples may have the same ends (contract 10.4, "Flaw of the key").
    const hash = createHash('sha256').update(data).digest('hex').slice(0, 16)
    const part = chunk ? `.chunk${chunk.index}` : ''
    const span = `${isoInstant(firstMs)}.${isoInstant(lastMs)}`
    return {
      userId,
      provider,
      name: event as EventName,
      key: `timeseries.${userId}.${provider}.${seriesType}.${span}${part}.${event}.${hash}`,
      scope,
      data,
      packed: true,
    }
  })
}
