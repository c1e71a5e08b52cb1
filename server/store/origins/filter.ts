// A Bloom filter in blocks (Putze, Sanders, Singler: "Cache-, Hash- and Space-Efficient Bloom Filters", 2007): all bits
// of a record lie in one block, so a look-up reads 32 bytes. The 48 bits of a hash are six places in a block. With 12
// records per block, 0.05 % of the lists without a record are read in vain; with 20, as in older lists, 0.6 %.

const BLOCK_BYTES = 32
const RECORDS_PER_BLOCK = 12

/** Whether a list with this filter may have one of these records (hashes of 48 bits). */
export function mayHave(filter: Buffer, records: readonly number[]): boolean {
  const blocks = filter.length / BLOCK_BYTES
  return records.some((record) => {
    const block = (record % blocks) * BLOCK_BYTES
    const has = (bit: number) => ((filter[block + (bit >>> 3)] as number) >>> (bit & 7)) & 1
    const high = Math.floor(record / 0x1000000)
    const low = record % 0x1000000
    return (
      has(high >>> 16) &
      has((high >>> 8) & 255) &
      has(high & 255) &
      has(low >>> 16) &
      has((low >>> 8) & 255) &
      has(low & 255)
    )
  })
}

/** Builds the filter of a list from its records (hashes of 48 bits); `mayHave`, and for few records the function `may_have_record`, ask it. */
export function originFilter(records: readonly number[]): Buffer {
  // An odd number, so all bits of a hash influence the block.
  const blocks = Math.ceil(records.length / RECORDS_PER_BLOCK) | 1
  const filter = Buffer.alloc(blocks * BLOCK_BYTES)
  for (const record of records) {
    const block = (record % blocks) * BLOCK_BYTES
    const high = Math.floor(record / 0x1000000)
    const low = record % 0x1000000
    for (let shift = 16; shift >= 0; shift -= 8) {
      setBit(filter, block, (high >>> shift) & 255)
      setBit(filter, block, (low >>> shift) & 255)
    }
  }
  return filter
}

function setBit(filter: Buffer, block: number, bit: number): void {
  const at = block + (bit >>> 3)
  filter[at] = (filter[at] as number) | (1 << (bit & 7))
}
