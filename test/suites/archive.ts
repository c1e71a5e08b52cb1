import '../rollups/archive-late.test.ts'
import '../rollups/archive-means.test.ts'
import '../rollups/archive.test.ts'
