import fc from 'fast-check'

const SURROGATES = 0xd800
const SURROGATES_END = 0xe000
const CODE_POINTS = 0x110000 - (SURROGATES_END - SURROGATES)

/**
 * Any character: all code points but half surrogates. As the `unit` of a text it is what 'binary' is, which makes a table
 * of all million of them, for a second.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(CODE_POINTS - 1).map(
  (n) => String.fromCodePoint(n < SURROGATES ? n : n + SURROGATES_END - SURROGATES),
  (text) => {
    const point = typeof text === 'string' ? text.codePointAt(0) : undefined
    const isHalf = point !== undefined && point >= SURROGATES && point < SURROGATES_END
    if (point === undefined || isHalf || String.fromCodePoint(point) !== text) throw new Error('not one character')
    return point < SURROGATES ? point : point - SURROGATES_END + SURROGATES
  },
)
