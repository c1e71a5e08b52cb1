import { createHmac } from 'node:crypto'
import type { Transaction } from '../../db/database.ts'
import type { Keys } from '../../http/tokens.ts'

/** The stored form of a network: its HMAC-SHA256, so that a reader of the database learns no address. */
export const hashNetwork = (keys: Keys, network: string) => createHmac('sha256', keys.throttle).update(network).digest()

/** Whether `developer` d has logged in from the network `$2` in the last 90 days. */
export const KNOWS_NETWORK = `exists (
  select from known_network n
  where n.developer_id = d.id and n.network = $2 and n.last_login_at > now() - interval '90 days'
)`

/** Notes a login from there. The newest 20 networks of a developer are kept. */
export async function rememberNetwork(tx: Transaction, developerId: string, network: Buffer): Promise<void> {
  await tx.query(
    `insert into known_network (developer_id, network) values ($1, $2)
     on conflict (developer_id, network) do update set last_login_at = now()`,
    [developerId, network],
  )
  await tx.query(
    `delete from known_network
     where developer_id = $1
       and network not in (
         select network from known_network where developer_id = $1 order by last_login_at desc, network limit 20
       )`,
    [developerId],
  )
}
