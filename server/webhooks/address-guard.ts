import { lookup as resolveName } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { canonicalAddress, embeddedIpv4, inNetworks, networkList } from '../networks.ts'

// Nothing outside reaches a developer's network through us. The guard refuses every block of the IANA special-purpose
// registries (https://www.iana.org/assignments/iana-ipv4-special-registry, …/iana-ipv6-special-registry), multicast and
// class E (RFC 5771, RFC 1112), and all IPv6 addresses except global unicast (RFC 4291: 2000::/3).
const REFUSED_IPV4 = [
  '0.0.0.0/8', // this network; unspecified
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by a carrier's customers; a cloud's metadata at 100.100.100.200
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // a cloud's metadata, in no registry
  '169.254.0.0/16', // link-local; most clouds' metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; a cloud's metadata at 192.0.0.192
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // automatic multicast tunnels
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved; broadcast
]
const GLOBAL_UNICAST = '2000::/3'
const REFUSED_IPV6 = [
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID and others
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

const refusedIpv4 = networkList(REFUSED_IPV4)
const refusedIpv6 = networkList(REFUSED_IPV6)
const globalUnicast = networkList([GLOBAL_UNICAST])

/** Settings that decide where endpoints may be; networks are CIDR ranges that are otherwise refused. */
export interface GuardSettings {
  allowHttp: boolean
  allowNetworks: string[]
}

const NOT_PUBLIC = 'must not point to an address that is private or reserved'

/** A connection was refused because of its address. */
export class RefusedAddress extends Error {
  readonly code = 'REFUSED_ADDRESS'
  constructor() {
    super('the address is private or reserved')
  }
}

/** Guards the calls of one process. */
export interface AddressGuard {
  /** See `checkUrl`. */
  problem(url: string): string | undefined
  /**
   * For `net.connect` and `tls.connect`: resolves a name once and fails with `RefusedAddress` unless all its addresses
   * are allowed, so that the connection goes to what was checked. Node does not call it for literal addresses.
   */
  lookup: LookupFunction
}

/**
 * The error in the URL of an endpoint, phrased to follow its name; undefined when there is none. Names are not resolved
 * here but at each connection.
 */
export function checkUrl(url: string, settings: GuardSettings): string | undefined {
  return createGuard(settings).problem(url)
}

/** Creates the guard of this process; `resolve` defaults to the system's resolver. */
export function createGuard({ allowHttp, allowNetworks }: GuardSettings, resolve = resolveName): AddressGuard {
  const allowed = networkList(allowNetworks)
  const isAllowed = (address: string): boolean => {
    const plain = canonicalAddress(address)
    if (plain === undefined) return false
    const inside = embeddedIpv4(plain)
    if (inside) return inNetworks(allowed, plain) || isAllowed(inside)
    return inNetworks(allowed, plain) || isPublic(plain)
  }
  return {
    problem(text) {
      const url = URL.canParse(text) ? new URL(text) : undefined
      if (!url || !['https:', 'http:'].includes(url.protocol)) return 'must be an absolute https URL'
      if (url.protocol === 'http:' && !allowHttp) return 'must use https'
      if (url.username || url.password) return 'must not contain a user name or password'
      // The parser has turned every notation of an IPv4 address into the usual one.
      const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
      if (isIP(host)) return isAllowed(host) ? undefined : NOT_PUBLIC
      const name = host.replace(/\.+$/, '')
      if (!/(^|\.)localhost$/.test(name)) return name ? undefined : 'must be an absolute https URL'
      return isAllowed('127.0.0.1') || isAllowed('::1') ? undefined : NOT_PUBLIC
    },
    lookup: guardedLookup(isAllowed, resolve),
  }
}

/**
 * Names that are resolved at the same time: the system's resolver occupies threads that others need. A name that took
 * longer than SLOW_MS the last time waits for others like it, so that hanging names do not hold up the rest.
 */
const LOOKUPS_AT_ONCE = 3
const SLOW_LOOKUPS_AT_ONCE = 1
const SLOW_MS = 1_000
const SLOW_NAMES_KEPT = 1_000

type Addresses = { address: string; family: number }[]

/**
 * Resolves a name once, however many connections wait for it; a hanging name occupies one of the resolver's threads.
 */
function guardedLookup(isAllowed: (address: string) => boolean, resolve: typeof resolveName): LookupFunction {
  const asked = new Map<string, Promise<Addresses>>()
  const queue: { name: string; ask(): void }[] = []
  const slow = new Set<string>()
  const running = new Set<string>()
  const next = () => {
    if (running.size >= LOOKUPS_AT_ONCE) return
    const slowRunning = [...running].filter((name) => slow.has(name)).length
    const at = queue.findIndex(({ name }) => !slow.has(name) || slowRunning < SLOW_LOOKUPS_AT_ONCE)
    const [found] = at < 0 ? [] : queue.splice(at, 1)
    if (!found) return
    running.add(found.name)
    found.ask()
  }
  const addressesOf = (name: string) => {
    let answer = asked.get(name)
    if (!answer) {
      answer = new Promise<Addresses>((done, fail) => {
        const ask = () => {
          const started = performance.now()
          resolve(name, { all: true }, (error, addresses) => {
            running.delete(name)
            asked.delete(name)
            if (performance.now() - started < SLOW_MS) slow.delete(name)
            else if (slow.size < SLOW_NAMES_KEPT) slow.add(name)
            next()
            if (error) fail(error)
            else if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) {
              fail(new RefusedAddress())
            } else done(addresses)
          })
        }
        queue.push({ name, ask })
        next()
      })
      asked.set(name, answer)
    }
    return answer
  }
  return (name, { all }, callback) => {
    addressesOf(name).then(
      (addresses) => {
        const [first] = addresses as [Addresses[number]]
        if (all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, all ? [] : ''),
    )
  }
}

function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !refusedIpv4.check(address)
  return globalUnicast.check(address, 'ipv6') && !refusedIpv6.check(address, 'ipv6')
}
