import { providerByName } from '../../catalogue/providers.ts'
import type { OAuthClient } from '../../provider-client/clients.ts'
import { isoInstant } from '../../time.ts'

/** How long nobody is asked at a provider that says that its API has ended. */
const CLOSED_MS = 86_400_000

/** The providers that have ended their API (`retired` of `Verdict`), as far as this process has seen. */
export class RetiredApis {
  readonly #untilMs = new Map<string, number>()

  /** Closes the gate of a provider for a day, for everybody. Returns whether it was open. */
  close({ id }: OAuthClient, nowMs = Date.now()): boolean {
    const wasOpen = (this.#untilMs.get(id) ?? 0) <= nowMs
    this.#untilMs.set(id, nowMs + CLOSED_MS)
    return wasOpen
  }

  /** Why nobody is asked there, for people; undefined: the gate is open. */
  reason({ id, name, provider: { successor } }: OAuthClient, nowMs = Date.now()): string | undefined {
    const untilMs = this.#untilMs.get(id) ?? 0
    if (untilMs <= nowMs) return undefined
    const instead =
      successor === undefined ? '' : ` Connect ${providerByName.get(successor)?.name ?? successor} instead.`
    return `${name} has ended this API.${instead} It is tried again after ${isoInstant(untilMs)}`
  }
}
