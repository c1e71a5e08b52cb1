import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The metrics of `/metrics`, with Prometheus' names and units. */
export interface Metrics {
  registry: Registry
  httpSeconds: Histogram<'method' | 'route' | 'status'>
  uploadsAccepted: Counter<'provider'>
  uploadsRefused: Counter<'reason'>
  samples: Counter<'outcome'>
  importSeconds: Histogram
  syncStreams: Gauge
  deliveryAttempts: Counter<'outcome'>
  deliverySeconds: Histogram
  providerRequests: Counter<'provider' | 'status'>
  tokenRefreshes: Counter<'provider' | 'outcome'>
  consentsRefused: Counter<'provider' | 'error'>
  pulls: Counter<'provider' | 'outcome'>
  notices: Counter<'provider' | 'outcome'>
  noticesOpened: Counter<'provider' | 'outcome'>
  noticesMissed: Counter<'provider'>
  reads: Counter<'answered_by'>
  replicaFallbacks: Counter<'reason'>
  replicaAvailable: Gauge<'replica'>
}

/** What `/metrics` shows: of one of several processes behind a port, the metrics of all, added up. */
export interface ShownMetrics {
  text(): Promise<string>
}

/** How often the delay of the event loop is taken: at 10 ms that alone takes half a per cent of a core. */
export const LOOP_DELAY_MS = 20

/** Creates the metrics of one process in a registry of its own; the delay of its event loop is taken as often as that. */
export function createMetrics(delayEveryMs = LOOP_DELAY_MS): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: delayEveryMs })
  const registers = [registry]
  return {
    registry,
    ...httpMetrics(registers),
    ...uploadMetrics(registers),
    ...deliveryMetrics(registers),
    ...providerMetrics(registers),
    ...noticeMetrics(registers),
    ...replicaMetrics(registers),
  }
}

function httpMetrics(registers: Registry[]): Pick<Metrics, 'httpSeconds' | 'syncStreams'> {
  return {
    httpSeconds: new Histogram({
      name: 'pulsebase_http_request_seconds',
      help: 'Time from the first byte of a request to its answer',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
      registers,
    }),
    syncStreams: new Gauge({
      name: 'pulsebase_sync_streams',
      help: 'Clients of this process that follow uploads live',
      registers,
    }),
  }
}

function replicaMetrics(registers: Registry[]): Pick<Metrics, 'reads' | 'replicaFallbacks' | 'replicaAvailable'> {
  return {
    reads: new Counter({
      name: 'pulsebase_reads_total',
      help: 'Reads that a replica may answer, by who did: the place of a replica, or primary',
      labelNames: ['answered_by'],
      registers,
    }),
    replicaFallbacks: new Counter({
      name: 'pulsebase_replica_fallbacks_total',
      help: 'Those that the primary answered, by the reason',
      labelNames: ['reason'],
      registers,
    }),
    replicaAvailable: new Gauge({
      name: 'pulsebase_replica_available',
      help: 'Whether a replica is used, by its place in DATABASE_READ_URL; of several processes, how many use it',
      labelNames: ['replica'],
      registers,
    }),
  }
}

function uploadMetrics(
  registers: Registry[],
): Pick<Metrics, 'uploadsAccepted' | 'uploadsRefused' | 'samples' | 'importSeconds'> {
  return {
    uploadsAccepted: new Counter({
      name: 'pulsebase_uploads_accepted_total',
      help: 'SDK uploads stored and answered 202',
      labelNames: ['provider'],
      registers,
    }),
    uploadsRefused: new Counter({
      name: 'pulsebase_uploads_refused_total',
      help: 'SDK uploads answered with an error, by its code',
      labelNames: ['reason'],
      registers,
    }),
    samples: new Counter({
      name: 'pulsebase_samples_total',
      help: 'Samples imported, by what became of them',
      labelNames: ['outcome'],
      registers,
    }),
    importSeconds: new Histogram({
      name: 'pulsebase_import_seconds',
      help: 'Time to import one upload',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60],
      registers,
    }),
  }
}

function deliveryMetrics(registers: Registry[]): Pick<Metrics, 'deliveryAttempts' | 'deliverySeconds'> {
  return {
    deliveryAttempts: new Counter({
      name: 'pulsebase_webhook_attempts_total',
      help: 'Calls of endpoints, by what became of them',
      labelNames: ['outcome'],
      registers,
    }),
    deliverySeconds: new Histogram({
      name: 'pulsebase_webhook_call_seconds',
      help: 'Time of a call of an endpoint, to the end of its answer',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
      registers,
    }),
  }
}

function providerMetrics(
  registers: Registry[],
): Pick<Metrics, 'providerRequests' | 'tokenRefreshes' | 'consentsRefused' | 'pulls'> {
  return {
    pulls: new Counter({
      name: 'pulsebase_pulls_total',
      help: 'Streams asked of cloud providers, by what became of it',
      labelNames: ['provider', 'outcome'],
      registers,
    }),
    providerRequests: new Counter({
      name: 'pulsebase_provider_requests_total',
      help: 'Requests to cloud providers, by the status of the answer, or none',
      labelNames: ['provider', 'status'],
      registers,
    }),
    tokenRefreshes: new Counter({
      name: 'pulsebase_token_refreshes_total',
      help: 'Attempts to refresh the access of a grant, by what became of them',
      labelNames: ['provider', 'outcome'],
      registers,
    }),
    consentsRefused: new Counter({
      name: 'pulsebase_consents_refused_total',
      help: 'Errors that providers sent instead of a consent, by their code',
      labelNames: ['provider', 'error'],
      registers,
    }),
  }
}

function noticeMetrics(registers: Registry[]): Pick<Metrics, 'notices' | 'noticesOpened' | 'noticesMissed'> {
  return {
    notices: new Counter({
      name: 'pulsebase_notices_total',
      help: 'Notices that cloud providers sent, by how they were answered',
      labelNames: ['provider', 'outcome'],
      registers,
    }),
    noticesOpened: new Counter({
      name: 'pulsebase_notices_opened_total',
      help: 'Notices that were opened, by what became of them',
      labelNames: ['provider', 'outcome'],
      registers,
    }),
    noticesMissed: new Counter({
      name: 'pulsebase_notices_missed_total',
      help: 'Pulls that found what is more than half an hour old, of which a notice should have come and none had',
      labelNames: ['provider'],
      registers,
    }),
  }
}

/** Of a gauge that counts what is in the database: several processes behind a port count the same. */
export const OF_DATABASE = { aggregator: 'max' } as const

/** How long `/metrics` waits for counts from the database. */
const SOON_MS = 1_000

/** The count, or undefined if it takes long or fails: metrics are served even when the database is not available. */
export function soon<T>(count: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, SOON_MS, undefined)
    count.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer))
  })
}
