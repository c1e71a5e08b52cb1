import type { OriginHash } from '../../batch/origins.ts'

// A Bloom filter in blocks (Putze, Sanders, Singler: "Cache-, Hash- and Space-Efficient Bloom Filters", 2007): all bits
// of a record lie in one block, so a look-up reads 32 bytes. The 48 bits of a hash are six places in a block. With 20
// records per block, 0.6 % of the lists without a record are read in vain.

const BLOCK_BYTES = 32
const RECORDS_PER_BLOCK = 20

/** Builds the filter of a list; the function `may_have_record` asks it. */
export function originFilter(records: readonly OriginHash[]): Buffer {
  // An odd number, so all bits of a hash influence the block.
  const blocks = Math.ceil(records.length / RECORDS_PER_BLOCK) | 1
  const filter = Buffer.alloc(blocks * BLOCK_BYTES)
  for (const { record } of records) {
    const block = (record % blocks) * BLOCK_BYTES
    const high = Math.floor(record / 0x1000000)
    const low = record % 0x1000000
    for (const bits of [high, low]) {
      for (const bit of [(bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255]) {
        const at = block + (bit >>> 3)
        filter[at] = (filter[at] as number) | (1 << (bit & 7))
      }
    }
  }
  return filter
}
