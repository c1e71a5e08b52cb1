import '../rollups/archive-late.test.ts'
