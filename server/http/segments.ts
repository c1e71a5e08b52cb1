import Router, { type Layer, type MatchResult } from '@koa/router'

/** Routes by the segments of their paths. */
interface Place {
  literal: Map<string, Place>
  parameter?: Place
  /** Of paths that end here, with their positions in the order of registration. */
  layers: [order: number, layer: Layer][]
}

const place = (): Place => ({ literal: new Map(), layers: [] })

/** A segment that is a parameter; and one of another pattern, such as `{*rest}`. */
const PARAMETER = /^:\w+$/
const PATTERN = /[:*{}()]/

/** A router that finds routes by the segments of the path, instead of trying the pattern of each. */
export class SegmentRouter extends Router {
  #indexed = -1
  #root = place()
  /** Those of other patterns: always tried. */
  #others: Place['layers'] = []

  override match(path: string, method: string): MatchResult {
    if (this.#indexed !== this.stack.length) this.#index()
    const found = [...this.#others]
    collect(this.#root, segmentsOf(path), 0, found)
    const result: MatchResult = { path: [], pathAndMethod: [], route: false }
    for (const [, layer] of found.sort(([a], [b]) => a - b)) {
      // It also decides about an empty segment.
      if (!layer.match(path)) continue
      result.path.push(layer)
      if (!layer.methods.includes(method.toUpperCase())) continue
      result.pathAndMethod.push(layer)
      result.route = true
    }
    return result
  }

  #index(): void {
    this.#root = place()
    this.#others = []
    for (const [order, layer] of this.stack.entries()) this.#placeOf(layer).push([order, layer])
    this.#indexed = this.stack.length
  }

  #placeOf({ path }: Layer): Place['layers'] {
    const segments = typeof path === 'string' ? segmentsOf(path) : ['*']
    // The path of the root ends with one slash or two.
    if (path === '/' || segments.some((segment) => PATTERN.test(segment) && !PARAMETER.test(segment)))
      return this.#others
    let at = this.#root
    for (const segment of segments) {
      let next = PARAMETER.test(segment) ? at.parameter : at.literal.get(segment)
      if (!next) {
        next = place()
        if (PARAMETER.test(segment)) at.parameter = next
        else at.literal.set(segment, next)
      }
      at = next
    }
    return at.layers
  }
}

/** Without what a slash at the end adds, which patterns allow. */
function segmentsOf(path: string): string[] {
  const segments = path.split('/')
  if (segments.at(-1) === '') segments.pop()
  return segments
}

/** Adds the layers of all places that the segments from `index` on lead to. */
function collect(from: Place, segments: readonly string[], index: number, found: Place['layers']): void {
  const segment = segments[index]
  if (segment === undefined) {
    found.push(...from.layers)
    return
  }
  const literal = from.literal.get(segment)
  if (literal) collect(literal, segments, index + 1, found)
  if (from.parameter) collect(from.parameter, segments, index + 1, found)
}
