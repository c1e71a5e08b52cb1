/** How the body of a request is compressed, from its Content-Encoding; undefined for what is not accepted (contract 1.1). */
export function contentEncoding(header: string): 'identity' | 'gzip' | 'deflate' | undefined {
  const name = header.trim().toLowerCase()
  if (name === '' || name === 'identity') return 'identity'
  return name === 'gzip' || name === 'x-gzip' ? 'gzip' : name === 'deflate' ? 'deflate' : undefined
}
