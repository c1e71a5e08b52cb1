// Which of several sources is better (contract 12.1).
import type { Source } from './facts.ts'

/** What developers set: the lower number wins; what is not listed comes last. */
export interface Priorities {
  providers: Record<string, number>
  types: Record<string, number>
}

export const DEFAULT_PRIORITIES: Priorities = {
  providers: { apple: 1, health_connect: 8, samsung: 10 },
  types: { watch: 1, band: 2, ring: 3, phone: 4, tablet: 4, scale: 5, other: 6, unknown: 99 },
}

/** Orders sources, the best first; `amount` is what the person has of each, where that matters. */
export function better(
  { providers, types }: Priorities,
  a: Source,
  b: Source,
  amount: (source: Source) => number = () => 0,
): number {
  const last = 99
  const provider = ({ shown }: Source) => providers[shown.provider] ?? last
  const type = ({ shown }: Source) => types[shown.device_type] ?? last
  return provider(a) - provider(b) || type(a) - type(b) || amount(b) - amount(a) || byName(a, b)
}

/** The rank without amounts in which a source without a device model has no type: that of `merge=none`. */
export function strictlyBetter(priorities: Priorities, a: Source, b: Source): number {
  const typed = (source: Source): Source => ({
    ...source,
    shown: { ...source.shown, device_type: source.shown.device === null ? 'none' : source.shown.device_type },
  })
  return better(priorities, typed(a), typed(b))
}

function byName(a: Source, b: Source): number {
  const letters = (one: string | null, other: string | null) => Buffer.compare(bytes(one), bytes(other))
  return letters(a.shown.device, b.shown.device) || letters(a.shown.source, b.shown.source) || a.seen - b.seen
}

const bytes = (text: string | null) => Buffer.from(text ?? '')
