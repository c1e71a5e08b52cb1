import '../rollups/archive.test.ts'
import '../rollups/archive-means.test.ts'
