// Starts the embedded database in the given directory and prints its address; SIGTERM ends the process at once.
import { startEmbeddedDatabase } from '../../server/db/embedded.ts'

process.on('SIGINT', () => console.log('interrupted'))
process.on('SIGTERM', () => process.exit())
setInterval(() => {}, 1000)
const [dataDir = ''] = process.argv.slice(2)
const { url } = await startEmbeddedDatabase({ dataDir, log: () => {} })
console.log(url)
