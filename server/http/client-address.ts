import { isIP } from 'node:net'
import { canonicalAddress, embeddedIpv4, inNetworks, networkList } from '../networks.ts'

/**
 * Returns the address of the client of a request: the peer of the connection, unless that is one of our proxies. Then
 * `X-Forwarded-For` is read from its end, where each proxy adds the peer it was called by. The first address there that
 * is not one of our proxies is the client; anybody may have written what stands before it. If an entry is not an
 * address, or all are proxies, the last readable one counts. Addresses are in the form of `plainAddress`; empty when
 * the connection is gone.
 */
export function clientAddresses(trustedProxies: readonly string[]) {
  const trusted = networkList(trustedProxies)
  return (peer: string | undefined, forwardedFor: string | string[] | undefined): string => {
    let client = plainAddress(peer ?? '') ?? ''
    if (forwardedFor === undefined) return client
    const entries = String(forwardedFor).split(',')
    while (client && inNetworks(trusted, client)) {
      const before = plainAddress(withoutPort((entries.pop() ?? '').trim()))
      if (!before) break
      client = before
    }
    return client
  }
}

/** Some proxies add the port: `192.0.2.7:4711`, `[2001:db8::7]:4711`. */
const withoutPort = (entry: string) =>
  entry.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1').replace(/^\[(.*)\](:\d+)?$/, '$1')

/** An address without its zone in one canonical spelling, IPv4 for a mapped one; undefined for any other text. */
function plainAddress(text: string): string | undefined {
  if (isIP(text) === 4) return text
  const address = canonicalAddress(text.replace(/%.*$/, ''))
  return address && (embeddedIpv4(address) ?? address)
}

/**
 * The unit that limits count by: an IPv4 address, or the first 64 bits of an IPv6 address, all of which one client
 * owns.
 */
export function clientNetwork(address: string): string {
  if (isIP(address) !== 6) return address
  const [left = [], right = []] = address.split('::').map((side) => side.split(':').filter(Boolean))
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}
