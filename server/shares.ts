import type { Config } from './config.ts'

// What each of several processes behind a port (WEB_CONCURRENCY) takes on, and how many connections it needs for that:
// together about as many as one alone.

/** Which of how many processes behind a port: the first has the number 1. */
export interface Place {
  number: number
  count: number
}

/** The place of the only process. */
export const ALONE: Place = { number: 1, count: 1 }

/** All places of so many processes. */
export const placesOf = (count: number): Place[] =>
  Array.from({ length: count }, (_, index) => ({ number: index + 1, count }))

/** The share of a process: those of all add up to the whole, the first ones have one more where it does not divide. */
export const shareOf = (whole: number, { number, count }: Place): number => Math.floor((whole + count - number) / count)

/** Imports at the same time, of all processes behind a port. */
const IMPORTS = 4
/** How many of them import, so that one goes on while another is replaced: each needs further connections for it. */
const IMPORTING = 2

type Settings = Pick<Config, 'role' | 'outgoingWebhooksEnabled' | 'eventFeedEnabled'>

/** What a process does besides serving. */
export interface Work {
  /** Imports at the same time; 0: others take the jobs, and the clock that enqueues them is theirs. */
  imports: number
  /** How many processes import. */
  importing: number
  /** Whether it fans out events and delivers webhooks. */
  delivers: boolean
  /** Whether it asks cloud providers, and opens what they send. */
  asks: boolean
}

/**
 * The work of a process. Only serving and importing are done by more than one: what wakes up for the same events
 * everywhere costs connections and gains nothing, and a process that ends is replaced.
 */
export function workOf(config: Settings, { number, count }: Place): Work {
  const importing = Math.min(count, IMPORTING)
  const hasEvents = config.outgoingWebhooksEnabled || config.eventFeedEnabled
  if (config.role === 'api') return { imports: 0, importing, delivers: false, asks: false }
  return {
    imports: number <= importing ? shareOf(IMPORTS, { number, count: importing }) : 0,
    importing,
    delivers: hasEvents && number === (count > IMPORTING ? IMPORTING + 1 : 1),
    asks: number === Math.min(count, IMPORTING + 2),
  }
}

/** Maximum of connections for deliveries: two listen, and each part of the work needs one. */
export const WEBHOOK_CONNECTIONS = 6

/** Maximum of connections of the queue: two kinds of workers listen, and few of those that ask work at the same moment. */
export const queueConnections = (imports: number): number => imports + 3

/** Maximum of connections of a process for each purpose. */
export interface Connections {
  /** Of requests (limits.ts). */
  api: number
  /** Of the readiness probe. */
  probe: number
  /** To store what must not be refused: tokens and consents. */
  saving: number
  /** One for each import, and one for other jobs. */
  jobs: number
  queue: number
  /** Shows that the process lives. */
  life: number
  /** One listens, none is held while a provider is asked. */
  pulls: number
  /** One listens, and one for each of two providers. */
  notices: number
  webhooks: number
}

/** Maximum of connections of a process for each purpose, 0 where it does not do such work. */
export function connectionsOf(api: number, { imports, delivers, asks }: Work, place: Place): Connections {
  return {
    api,
    probe: 1,
    saving: Math.max(1, shareOf(2, place)),
    jobs: imports > 0 ? imports + 1 : 0,
    queue: imports > 0 ? queueConnections(imports) : 0,
    life: imports > 0 || delivers || asks ? 1 : 0,
    pulls: asks ? 5 : 0,
    notices: asks ? 3 : 0,
    webhooks: delivers ? WEBHOOK_CONNECTIONS : 0,
  }
}

/** The sum of the connections of a process. */
export const sumOf = (connections: Connections): number =>
  Object.values(connections).reduce((sum: number, one: number) => sum + one, 0)
