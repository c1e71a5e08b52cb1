import { isIP } from 'node:net'
import { canonicalAddress, embeddedIpv4, inNetworks, networkList } from '../networks.ts'

/**
 * Tells the address of whoever sent a request: the peer of the connection, unless that is one of our proxies. Then
 * `X-Forwarded-For` is read from its end, to which each proxy adds the peer it was called by. The first address there that
 * is no proxy of ours is the client; what stands before it anybody may have written. Where an entry is no address, or all
 * are proxies, the last one that could be read counts.
 * Addresses come back as `plainAddress` writes them; empty when the connection is gone.
 */
export function clientAddresses(trustedProxies: readonly string[]) {
  const trusted = networkList(trustedProxies)
  return (peer: string | undefined, forwardedFor: string): string => {
    let client = plainAddress(peer ?? '') ?? ''
    const entries = forwardedFor.split(',')
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

/** An address without its zone in the one spelling we use, IPv4 for one that is mapped; undefined for what is none. */
function plainAddress(text: string): string | undefined {
  const address = canonicalAddress(text.replace(/%.*$/, ''))
  return address && (embeddedIpv4(address) ?? address)
}

/** What stands for a client: its IPv4 address, or the first 64 bits of its IPv6 address, all of which it owns. */
export function clientNetwork(address: string): string {
  if (isIP(address) !== 6) return address
  const [left = [], right = []] = address.split('::').map((side) => side.split(':').filter(Boolean))
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  return [...left, ...zeros, ...right].slice(0, 4).join(':')
}
