import type { MapPart, Out, Part } from './part.ts'

/** The mapping of a provider whose documents name no device: `app` is their source, and each stream has a reader. */
export function mapStreams(app: string, readers: Readonly<Record<string, (out: Out, part: Part) => void>>): MapPart {
  const byStream = new Map(Object.entries(readers))
  return (part, out) => {
    const read = byStream.get(part.stream)
    if (!read) return out.ignore(part.stream)
    out.source('', app)
    read(out, part)
  }
}
