// The samples after uploads and deletions, in the simplest form: a map of instants.
import fc from 'fast-check'

/** A record of a phone: minutes after a start, its value, its id or none. */
export interface ModelRecord {
  minute: number
  value: number
  id: number | null
}

/** One upload: its records, then the ids it deletes. */
export interface ModelUpload {
  records: ModelRecord[]
  deleted: number[]
}

interface ModelSample {
  value: number
  /** The records that state it. */
  records: Set<number>
}

/** The samples of one series and source of a user. */
export class RecordModel {
  readonly samples = new Map<number, ModelSample>()

  /** Applies an upload and returns how many of the deleted ids were known. */
  upload({ records, deleted }: ModelUpload): number {
    for (const minute of new Set(records.map((record) => record.minute))) {
      const sent = records.filter((record) => record.minute === minute)
      const { value } = sent.at(-1) as ModelRecord
      const others = sent.findLastIndex((record) => record.value !== value)
      const ids = sent.slice(others + 1).flatMap(({ id }) => (id === null ? [] : [id]))
      const stored = this.samples.get(minute)
      const before = stored?.value === value ? [...stored.records] : []
      this.samples.set(minute, { value, records: new Set([...before, ...ids]) })
    }
    return [...new Set(deleted)].filter((id) => this.#remove(id)).length
  }

  #remove(id: number): boolean {
    let known = false
    for (const [minute, { records }] of this.samples) {
      if (!records.delete(id)) continue
      known = true
      if (records.size === 0) this.samples.delete(minute)
    }
    return known
  }

  /** The remaining samples, by time. */
  left(): string[] {
    const minutes = [...this.samples].sort(([a], [b]) => a - b)
    return minutes.map(([minute, { value }]) => `${minute} ${value}`)
  }
}

/** Sequences of uploads: few instants, values and ids, so that they collide; ids occur at one instant or at several. */
export const modelUploads = fc.array(
  fc.record({
    records: fc.array(
      fc.record({
        minute: fc.nat(5),
        value: fc.nat(2),
        id: fc.oneof({ weight: 6, arbitrary: fc.nat(7) }, { weight: 1, arbitrary: fc.constant(null) }),
      }),
      { maxLength: 8 },
    ),
    deleted: fc.array(fc.nat(7), { maxLength: 3 }),
  }),
  { minLength: 2, maxLength: 10, size: 'max' },
)
