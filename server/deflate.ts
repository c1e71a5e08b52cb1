import { promisify } from 'node:util'
import { inflate, inflateRaw, inflateRawSync, inflateSync, type ZlibOptions } from 'node:zlib'

// `deflate` is DEFLATE with the header and checksum of zlib (RFC 9110), but many clients send it bare, such as
// Apple's NSData.compressed(using: .zlib).

/** Whether bytes begin like zlib: method 8, and a header that is a multiple of 31 (RFC 1950). */
const hasHeader = ([first = 0, second = 0]: Uint8Array) => (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0

/** The content of bytes in deflate, with zlib's header or without. @throws an error of zlib */
export const inflatedSync = (bytes: Uint8Array, options: ZlibOptions): Buffer =>
  (hasHeader(bytes) ? inflateSync : inflateRawSync)(bytes, options)

const [withHeader, bare] = [
  promisify<Uint8Array, ZlibOptions, Buffer>(inflate),
  promisify<Uint8Array, ZlibOptions, Buffer>(inflateRaw),
]

/** `inflatedSync` beside the event loop. */
export const inflated = (bytes: Uint8Array, options: ZlibOptions): Promise<Buffer> =>
  (hasHeader(bytes) ? withHeader : bare)(bytes, options)
