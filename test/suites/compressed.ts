import '../db/compress.test.ts'
import '../db/connections.test.ts'
import '../db/opened.test.ts'
import '../store/lock.test.ts'
