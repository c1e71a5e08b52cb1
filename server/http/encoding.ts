/** The compression of a request's body, from its Content-Encoding; undefined for an unsupported one (contract 1.1). */
export function contentEncoding(header: string): 'identity' | 'gzip' | 'deflate' | undefined {
  const name = header.trim().toLowerCase()
  if (name === '' || name === 'identity') return 'identity'
  return name === 'gzip' || name === 'x-gzip' ? 'gzip' : name === 'deflate' ? 'deflate' : undefined
}
