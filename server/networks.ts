import { BlockList, isIP } from 'node:net'

/** The networks as a list for looking up addresses; each a CIDR range. @throws Error for any other text */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

/** Whether an address lies in one of the networks; a mapped one (`::ffff:10.0.0.1`) counts as its IPv4 address. */
export function inNetworks(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/**
 * An address in its spelling in URLs; undefined for any other text, and for an address with a zone, which is never
 * global.
 */
export function canonicalAddress(address: string): string | undefined {
  if (isIP(address) === 4) return address
  if (isIP(address) !== 6 || !URL.canParse(`http://[${address}]`)) return undefined
  return new URL(`http://[${address}]`).hostname.slice(1, -1)
}

/**
 * The IPv4 address that a canonical one of IPv6 stands for, mapped (RFC 4291) or through NAT64's public prefix
 * (RFC 6052); undefined for any other.
 */
export function embeddedIpv4(address: string): string | undefined {
  const [, high, low] = /^(?:::ffff:|64:ff9b::)(?:([0-9a-f]{1,4}):)?([0-9a-f]{0,4})$/.exec(address) ?? []
  if (low === undefined) return undefined
  const number = (Number.parseInt(high || '0', 16) << 16) | Number.parseInt(low || '0', 16)
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
}
