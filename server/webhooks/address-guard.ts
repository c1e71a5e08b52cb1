import { BlockList, isIP } from 'node:net'

/** What decides where endpoints may be; networks are CIDR ranges that are otherwise refused. */
export interface GuardSettings {
  allowHttp: boolean
  allowNetworks: string[]
}

// IANA's registries of special-purpose addresses (RFC 6890), and multicast.
const FORBIDDEN = listOf([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4'],
  ...['240.0.0.0/4', '::/128', '::1/128', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/23', '2001:db8::/32'],
  ...['2002::/16', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
])

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits = ''] = range.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

/** What is wrong with the absolute URL of an endpoint, to be read after its name; undefined when nothing is. */
export function checkUrl(url: string, { allowHttp, allowNetworks }: GuardSettings): string | undefined {
  const { protocol, username, password, hostname } = new URL(url)
  if (protocol !== 'https:' && !(allowHttp && protocol === 'http:')) return 'must use https'
  if (username || password) return 'must not contain a user name or password'
  // The parser has written every spelling of an IPv4 address as four numbers.
  const address = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (!isIP(address) || listOf(allowNetworks).check(address, family)) return undefined
  return FORBIDDEN.check(address, family) ? 'must not point to an address that is private or reserved' : undefined
}
