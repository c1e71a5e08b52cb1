import { type EnterOptions, Gate, type GateLimits, type Leave } from './gate.ts'

/** A gate of which every place also needs a place of a gate that several kinds share by turns, each under its name. */
export class SharingGate extends Gate {
  readonly #shared: Gate
  readonly #name: string
  readonly #refused: () => void

  constructor(limits: GateLimits, refused: () => void, shared: Gate, name: string) {
    super(limits, refused)
    this.#shared = shared
    this.#name = name
    this.#refused = refused
  }

  override async enter(key: string, options: EnterOptions = {}): Promise<Leave> {
    const leave = await super.enter(key, options)
    try {
      const leaveShared = await this.#shared.enter(this.#name, options.client ? { client: options.client } : {})
      return () => {
        leaveShared()
        leave()
      }
    } catch (error) {
      leave()
      if (!options.client?.destroyed) this.#refused()
      throw error
    }
  }
}
