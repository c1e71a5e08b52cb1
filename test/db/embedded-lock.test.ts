import { readdir } from 'node:fs/promises'
import t from 'tap'
import { takeLock } from '../../server/db/embedded/lock.ts'
import { runs } from '../support/thorough.ts'

t.test('one of many contenders gets a lock whose owner died', async (t) => {
  const dir = t.testdir({ 'test.lock.7': `${process.pid} another start time\n` })
  for (let round = 0; round < runs(3, 10); round++) {
    const results = await Promise.all(Array.from({ length: 20 }, () => takeLock(dir, 'test.lock')))
    const locks = results.flatMap((result) => ('release' in result ? result : []))
    t.equal(locks.length, 1)
    t.match(
      results.filter((result) => 'heldBy' in result),
      Array(19).fill({ heldBy: process.pid }),
    )
    await locks[0]?.release()
    t.equal((await readdir(dir)).length, 1, 'one file is left')
  }
})
