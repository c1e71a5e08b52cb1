import '../rollups/archive.test.ts'
