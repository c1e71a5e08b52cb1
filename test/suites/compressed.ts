import '../db/compress.test.ts'
import '../db/opened.test.ts'
