/** QR codes (ISO/IEC 18004) of short texts: bytes, versions 1 to 5, level L, which have a single block of codewords. */

/** By version: how many codewords are data, and how many correct errors. */
const CODEWORDS: readonly (readonly [data: number, check: number])[] = [
  [19, 7],
  [34, 10],
  [55, 15],
  [80, 20],
  [108, 26],
]

/** Whether a module is dark, by row. */
export type Modules = boolean[][]

/** The code of a text with the version that just holds it; undefined for one of more than 106 bytes. */
export function qrOf(text: string): Modules | undefined {
  const bytes = new TextEncoder().encode(text)
  const version = CODEWORDS.findIndex(([data]) => bytes.length + 2 <= data) + 1
  const [data, check] = CODEWORDS[version - 1] ?? [0, 0]
  if (version === 0) return undefined
  const words = dataWords(bytes, data)
  const bits = [...words, ...checkWords(words, check)].flatMap((word) => bitsOf(word, 8))
  const drawn = MASKS.map((_, mask) => draw(version, mask, bits))
  return drawn.reduce((best, one) => (penaltyOf(one) < penaltyOf(best) ? one : best))
}

const bitsOf = (value: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => (value >> (count - 1 - at)) & 1)

/** The mode of bytes, their number and the bytes, then padding. */
function dataWords(bytes: Uint8Array, count: number): number[] {
  const bits = [
    ...bitsOf(4, 4),
    ...bitsOf(bytes.length, 8),
    ...[...bytes].flatMap((byte) => bitsOf(byte, 8)),
    0,
    0,
    0,
    0,
  ]
  const words = Array.from({ length: bytes.length + 2 }, (_, at) =>
    bits.slice(at * 8, at * 8 + 8).reduce((word, bit) => word * 2 + bit, 0),
  )
  while (words.length < count) words.push((words.length - bytes.length) % 2 === 0 ? 0xec : 0x11)
  return words
}

/** The product of two elements of the field of 256, modulo x⁸ + x⁴ + x³ + x² + 1. */
function times(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit -= 1) product = (product << 1) ^ ((product >> 7) * 0x11d) ^ (((b >> bit) & 1) * a)
  return product
}

/** The remainder of the data by the generator, whose roots are the powers of 2: Reed and Solomon's code. */
function checkWords(data: readonly number[], count: number): number[] {
  let generator = [1]
  for (let at = 0, root = 1; at < count; at += 1, root = times(root, 2)) {
    const next = [...generator, 0]
    for (const [place, factor] of generator.entries()) next[place + 1] = (next[place + 1] ?? 0) ^ times(factor, root)
    generator = next
  }
  const rest = Array<number>(count).fill(0)
  for (const word of data) {
    const factor = word ^ (rest.shift() ?? 0)
    rest.push(0)
    for (let at = 0; at < count; at += 1) rest[at] = (rest[at] ?? 0) ^ times(generator[at + 1] ?? 0, factor)
  }
  return rest
}

/** Which modules of the data are inverted, by row and column. */
const MASKS: readonly ((y: number, x: number) => boolean)[] = [
  (y, x) => (y + x) % 2 === 0,
  (y) => y % 2 === 0,
  (_, x) => x % 3 === 0,
  (y, x) => (y + x) % 3 === 0,
  (y, x) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
  (y, x) => ((y * x) % 2) + ((y * x) % 3) === 0,
  (y, x) => (((y * x) % 2) + ((y * x) % 3)) % 2 === 0,
  (y, x) => (((y + x) % 2) + ((y * x) % 3)) % 2 === 0,
]

function draw(version: number, mask: number, bits: readonly number[]): Modules {
  const size = 17 + 4 * version
  const fixed = patternsOf(version, mask)
  const modules: Modules = fixed.map((row) => row.map((module) => module === true))
  let next = 0
  // Pairs of columns from the right, up and down by turns; the column of the timing pattern has no place.
  for (let right = size - 1, up = true; right > 0; right -= right === 8 ? 3 : 2, up = !up) {
    for (let step = 0; step < size; step += 1) {
      const y = up ? size - 1 - step : step
      for (const x of [right, right - 1]) {
        if (fixed[y]?.[x] !== undefined) continue
        const bit = bits[next] === 1
        next += 1
        ;(modules[y] as boolean[])[x] = bit !== MASKS[mask]?.(y, x)
      }
    }
  }
  return modules
}

/** What is not data: undefined where data goes. */
function patternsOf(version: number, mask: number): (boolean | undefined)[][] {
  const size = 17 + 4 * version
  const modules = Array.from({ length: size }, () => Array<boolean | undefined>(size))
  const set = (y: number, x: number, dark: boolean) => {
    const row = modules[y]
    if (row && x >= 0 && x < size) row[x] = dark
  }
  const square = (middleY: number, middleX: number, reach: number, isDark: (ring: number) => boolean) => {
    for (let dy = -reach; dy <= reach; dy += 1)
      for (let dx = -reach; dx <= reach; dx += 1)
        set(middleY + dy, middleX + dx, isDark(Math.max(Math.abs(dy), Math.abs(dx))))
  }
  for (let at = 8; at < size - 8; at += 1) {
    set(6, at, at % 2 === 0)
    set(at, 6, at % 2 === 0)
  }
  if (version > 1) square(size - 7, size - 7, 2, (ring) => ring !== 1)
  for (const [y, x] of [
    [3, 3],
    [3, size - 4],
    [size - 4, 3],
  ] as const)
    square(y, x, 4, (ring) => ring !== 2 && ring < 4)
  const format = formatOf(mask)
  // Twice: around the corner at the top left, and along the two others.
  for (const [at, dark] of format.entries()) {
    if (at < 8) set(8, at < 6 ? at : at + 1, dark)
    else set(at < 9 ? 7 : 14 - at, 8, dark)
    if (at < 7) set(size - 1 - at, 8, dark)
    else set(8, size - 15 + at, dark)
  }
  set(size - 8, 8, true)
  return modules
}

/** Level L and the mask, with the remainder of a BCH code, most significant bit first. */
function formatOf(mask: number): boolean[] {
  const value = 8 + mask
  let rest = value
  for (let at = 0; at < 10; at += 1) rest = (rest << 1) ^ ((rest >> 9) * 0x537)
  return bitsOf(((value << 10) | rest) ^ 0x5412, 15).map((bit) => bit === 1)
}

/** How hard a code is to read: runs, blocks, what looks like a corner, and too much of one colour. */
function penaltyOf(modules: Modules): number {
  const size = modules.length
  const lines = [...modules, ...modules.map((_, x) => modules.map((row) => row[x] === true))].map((line) =>
    line.map(Number).join(''),
  )
  const runs = lines.flatMap((line) => line.match(/0{5,}|1{5,}/g) ?? []).reduce((sum, run) => sum + run.length - 2, 0)
  const corners = lines.reduce((sum, line) => sum + [...line.matchAll(/(?=00001011101|10111010000)/g)].length, 0)
  let [blocks, dark] = [0, 0]
  for (const [y, row] of modules.entries()) {
    for (const [x, module] of row.entries()) {
      dark += Number(module)
      if (row[x + 1] === module && modules[y + 1]?.[x] === module && modules[y + 1]?.[x + 1] === module) blocks += 1
    }
  }
  return runs + 3 * blocks + 40 * corners + 10 * Math.floor(Math.abs((dark / size ** 2) * 100 - 50) / 5)
}
